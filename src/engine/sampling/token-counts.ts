import { isEmbedding } from '../prompt-embeddings.ts';

/**
 * The distinct tokens of a text that only grows, and how often each occurs. A step counts what came
 * since the last one, however long the text is. Embeddings are not counted.
 */
export class TokenCounts {
  /** In order of their first occurrence. */
  readonly tokenIds: number[] = [];
  /** One for each of `tokenIds`. */
  readonly counts: number[] = [];
  readonly #places = new Map<number, number>();
  #length = 0;

  /** @param text which begins with what was counted before */
  countUpTo(text: Int32Array): this {
    for (; this.#length < text.length; this.#length++) this.#count(text[this.#length] ?? -1);
    return this;
  }

  #count(tokenId: number): void {
    if (isEmbedding(tokenId)) return;
    const place = this.#places.get(tokenId);
    if (place !== undefined) {
      this.counts[place] = (this.counts[place] ?? 0) + 1;
      return;
    }
    this.#places.set(tokenId, this.tokenIds.length);
    this.tokenIds.push(tokenId);
    this.counts.push(1);
  }
}
