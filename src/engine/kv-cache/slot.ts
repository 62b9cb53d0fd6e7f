import type { Sequence } from '../sequence.ts';

/** What a finished sequence left in its row. */
export interface CachedText {
  readonly tokenIds: Int32Array;
  readonly salt: string;
  lastUsed: number;
}

/** A row of the KV cache: a running sequence's, a finished one's text, or nobody's. */
export interface CacheRow {
  readonly index: number;
  owner: Sequence | null;
  cached: CachedText | null;
  /** Blocks that its owner or its text needs. */
  liveBlocks: number;
  /** Blocks that may be backed by memory: at least the live ones. */
  residentBlocks: number;
}

/** The tokens whose keys and values a row holds. */
export function tokenIdsOf({ owner, cached }: CacheRow): Int32Array {
  if (owner) return owner.tokenIds(0, owner.numComputedTokens);
  return cached?.tokenIds ?? new Int32Array();
}

export function saltOf({ owner, cached }: CacheRow): string {
  return owner?.request.cacheSalt ?? cached?.salt ?? '';
}
