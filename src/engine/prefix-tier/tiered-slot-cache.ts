import { SlotCache, type SlotCacheOptions } from '../kv-cache/slot-cache.ts';
import type { Sequence } from '../sequence.ts';
import type { CacheOperation } from '../cache-operation.ts';
import type { PrefixTier } from './prefix-tier.ts';

/** Slots whose texts are saved beyond the KV cache, and whose prompts begin with what was saved there. */
export class TieredSlotCache extends SlotCache {
  readonly #tier: PrefixTier;
  #operations: CacheOperation[] = [];

  constructor(options: SlotCacheOptions, tier: PrefixTier) {
    super(options);
    this.#tier = tier;
  }

  override reserve(sequence: Sequence, numOthers: number): boolean {
    if (!super.reserve(sequence, numOthers)) return false;
    const { id, slot, numComputedTokens: known } = sequence;
    const prefix = this.#tier.take(id, known);
    if (prefix === null) return true;
    const { start, blocks, length } = prefix;
    // After what moved to make room, and before others copy from here.
    this.#operations = this.drainOperations();
    this.#operations.push({ type: 'load', slot, start, blocks });
    sequence.numComputedTokens = length;
    this.registerBlocks(sequence);
    return true;
  }

  override release(sequence: Sequence, keep: boolean): void {
    const { slot, request } = sequence;
    super.release(sequence, keep);
    const tokenIds = this.cachedTokenIds(slot);
    // Most branches are given up a token later.
    if (tokenIds === null || request.branch !== undefined) return;
    this.#tier.save({ tokenIds, salt: request.cacheSalt });
  }

  override drainOperations(): CacheOperation[] {
    const operations = [...this.#operations, ...super.drainOperations()];
    this.#operations = [];
    return operations;
  }
}
