/** Embeddings that were computed before, or that another request computes. */
import { LRUCache } from 'lru-cache';

/** [positions, width], float32. */
export type Rows = Float32Array<ArrayBuffer>;

export class KnownRows {
  readonly #known: LRUCache<string, Rows>;
  readonly #coming = new Map<string, Promise<Rows>>();
  #queries = 0;
  #hits = 0;

  /** @param maxBytes the least recently used make way */
  constructor(maxBytes: number) {
    this.#known = new LRUCache<string, Rows>({
      maxSize: maxBytes,
      sizeCalculation: ({ byteLength }) => byteLength,
    });
  }

  /** How often rows were asked for, and were there. */
  get counts(): { readonly queries: number; readonly hits: number } {
    return { queries: this.#queries, hits: this.#hits };
  }

  /**
   * As they are known, as another request computes them, or as `compute` does.
   * @param key of what they are made of, and of who may find them
   * @throws the signal's reason; what `compute` throws
   */
  async of(key: string, signal: AbortSignal, compute: () => Promise<Rows>): Promise<Rows> {
    this.#queries++;
    for (;;) {
      signal.throwIfAborted();
      const known = this.#known.get(key);
      if (known !== undefined) {
        this.#hits++;
        return known;
      }
      const coming = this.#coming.get(key);
      if (coming === undefined) break;
      // Where it fails for the other request, it is computed for this one.
      await coming.catch(() => {});
    }
    const computing = compute();
    this.#coming.set(key, computing);
    try {
      const rows = await computing;
      this.#known.set(key, rows);
      return rows;
    } finally {
      this.#coming.delete(key);
    }
  }
}
