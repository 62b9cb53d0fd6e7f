import type { EmbeddingCache, Embed } from './embedding-cache.ts';
import type { TextModel } from '../encoder/text-model.ts';

/** A text encoder that computes no vector twice. Scores are computed each time. */
export class CachedEncoder implements Pick<
  TextModel,
  'kind' | 'maxTokens' | 'dim' | 'stats' | 'embed' | 'score'
> {
  readonly embed: Embed;
  readonly #encoder: TextModel;

  /** @param buildId see EmbeddingCache */
  constructor(encoder: TextModel, cache: EmbeddingCache, buildId: string) {
    this.#encoder = encoder;
    this.embed = cache.over((...of) => encoder.embed(...of), buildId);
  }

  get kind() {
    return this.#encoder.kind;
  }

  get maxTokens() {
    return this.#encoder.maxTokens;
  }

  get dim() {
    return this.#encoder.dim;
  }

  get stats() {
    return this.#encoder.stats;
  }

  score(...of: Parameters<TextModel['score']>) {
    return this.#encoder.score(...of);
  }
}
