import type { EmbeddingCache, Embed } from './embedding-cache.ts';
import type { TextModel } from '../embedding/text-model.ts';

/** A text encoder that computes no vector twice, and no logits of a text. Pairs are computed each
 * time, and vectors of tokens, which would push all others out. */
export class CachedEncoder implements Pick<
  TextModel,
  | 'kind'
  | 'labels'
  | 'givesTokens'
  | 'maxTokens'
  | 'dim'
  | 'stats'
  | 'embed'
  | 'embedTokens'
  | 'score'
  | 'classify'
> {
  readonly embed: Embed;
  readonly #logits: Embed;
  readonly #encoder: TextModel;

  /** @param buildId see EmbeddingCache */
  constructor(encoder: TextModel, cache: EmbeddingCache, buildId: string) {
    this.#encoder = encoder;
    this.embed = cache.over((...of) => encoder.embed(...of), buildId);
    this.#logits = cache.over((...of) => encoder.classify(...of), `${buildId} logits`);
  }

  get kind() {
    return this.#encoder.kind;
  }

  get labels() {
    return this.#encoder.labels;
  }

  get givesTokens() {
    return this.#encoder.givesTokens;
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

  classify(...[inputs, options, caller]: Parameters<TextModel['classify']>) {
    const texts = inputs.filter(
      (input) => typeof input === 'string' || input instanceof Int32Array,
    );
    if (texts.length < inputs.length || this.labels === null) {
      return this.#encoder.classify(inputs, options, caller);
    }
    return this.#logits(texts, options, caller);
  }

  embedTokens(...of: Parameters<TextModel['embedTokens']>) {
    return this.#encoder.embedTokens(...of);
  }

  score(...of: Parameters<TextModel['score']>) {
    return this.#encoder.score(...of);
  }
}
