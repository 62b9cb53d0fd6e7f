import { wholeBlocks } from '../kv-cache/prefix-index.ts';
import type { Sequence } from '../sequence.ts';

/** Tokens that were looked up in the prefix cache, and those that were found. */
export class PrefixCounts {
  #queries = 0;
  #hits = 0;

  get counters() {
    return { prefixCacheQueries: this.#queries, prefixCacheHits: this.#hits };
  }

  /** To be called whenever a sequence gets a slot; only the first time counts. */
  count(sequence: Sequence): void {
    if (sequence.numCachedTokens !== -1) return;
    sequence.numCachedTokens = wholeBlocks(sequence.numComputedTokens);
    this.#queries += sequence.numTokens;
    this.#hits += sequence.numCachedTokens;
  }
}
