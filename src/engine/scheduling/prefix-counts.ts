import { wholeBlocks } from '../kv-cache/prefix-index.ts';
import type { Sequence } from '../sequence.ts';

/** Tokens that were looked up in the prefix cache, those that were found, and why others were not. */
export class PrefixCounts {
  readonly counters = {
    prefixCacheQueries: 0,
    prefixCacheHits: 0,
    prefixCacheAbsent: 0,
    prefixCacheChanged: 0,
  };

  /** To be called whenever a sequence gets a slot; only the first time counts. */
  count(sequence: Sequence): void {
    if (sequence.numCachedTokens !== -1) return;
    const { numTokens, numComputedTokens: known, numKeptTokens: kept } = sequence;
    sequence.numCachedTokens = wholeBlocks(known);
    this.counters.prefixCacheQueries += numTokens;
    this.counters.prefixCacheHits += sequence.numCachedTokens;
    // One token is always computed, and is no change.
    if (known === 0) this.counters.prefixCacheAbsent += numTokens;
    else this.counters.prefixCacheChanged += Math.max(0, Math.min(kept, numTokens - 1) - known);
  }
}
