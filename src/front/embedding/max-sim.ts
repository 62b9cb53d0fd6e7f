/** Scores of late interaction. */
import { setImmediate } from 'node:timers/promises';

/** Products that are computed in a turn of the event loop: about a millisecond. */
const PRODUCTS_PER_TURN = 2 ** 20;

/** Computes scores one after the other; others get their turn of the event loop in between. */
export class MaxSim {
  #products = 0;

  /**
   * For each vector of a query the largest product with one of a document, summed up (ColBERT, arXiv:2004.12832).
   * @param query [vectors, width], as is the document
   */
  async score(query: Float32Array, document: Float32Array, width: number): Promise<number> {
    if (document.length === 0) return 0;
    const best = new Float32Array(query.length / width).fill(-Infinity);
    for (let start = 0; start < document.length; start += width) {
      raise(best, query, document.subarray(start, start + width));
      this.#products += query.length;
      if (this.#products < PRODUCTS_PER_TURN) continue;
      await setImmediate();
      this.#products = 0;
    }
    return best.reduce((sum, each) => sum + each, 0);
  }
}

/** Raises the best product of each of a query's vectors to that with another vector, if it is larger. */
function raise(best: Float32Array, query: Float32Array, vector: Float32Array): void {
  const width = vector.length;
  for (let row = 0; row < best.length; row++) {
    let product = 0;
    const start = row * width;
    for (let at = 0; at < width; at++) product += (query[start + at] ?? 0) * (vector[at] ?? 0);
    if (product > (best[row] ?? 0)) best[row] = product;
  }
}
