import type { Embed } from '../embedding/embed-request.ts';
import type { EmbeddingCache } from './embedding-cache.ts';
import type { TextModel } from '../embedding/text-model.ts';

/** A text encoder that computes no vector twice, and no logits of a text. Pairs are computed each
 * time, and vectors of tokens and weights of words, which would push all others out. */
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
  | 'embedSparse'
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
    const truncate = options.truncate !== undefined && options.truncate !== false;
    return this.#logits(texts, { ...options, truncate }, caller);
  }

  embedTokens(...of: Parameters<TextModel['embedTokens']>) {
    return this.#encoder.embedTokens(...of);
  }

  embedSparse(...of: Parameters<TextModel['embedSparse']>) {
    return this.#encoder.embedSparse(...of);
  }

  score(...of: Parameters<TextModel['score']>) {
    return this.#encoder.score(...of);
  }
}
