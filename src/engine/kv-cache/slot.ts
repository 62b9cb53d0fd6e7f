import type { Sequence } from '../sequence.ts';

/** Text that a finished sequence left in its slot. */
export interface CachedText {
  readonly tokenIds: Int32Array;
  readonly salt: string;
  /** Goes after all others when memory is short. */
  readonly isPinned: boolean;
  lastUsed: number;
}

/** A slot of the KV cache: it has a running sequence, a finished one's text, or nothing. */
export interface Slot {
  readonly index: number;
  owner: Sequence | null;
  cached: CachedText | null;
  /** Pages that its owner or its text needs. */
  livePages: number;
  /** Pages that may be backed by memory: at least the live ones. */
  residentPages: number;
}

/** The order in which cached texts make way. */
export function byLastUse({ cached: a }: Slot, { cached: b }: Slot): number {
  const isPinned = Number(a?.isPinned ?? false) - Number(b?.isPinned ?? false);
  return isPinned || (a?.lastUsed ?? 0) - (b?.lastUsed ?? 0);
}

/** The tokens whose keys and values a slot holds. */
export function tokenIdsOf({ owner, cached }: Slot): Int32Array {
  if (owner) return owner.tokenIds(0, owner.numComputedTokens);
  return cached?.tokenIds ?? new Int32Array();
}

export function saltOf({ owner, cached }: Slot): string {
  return owner?.request.cacheSalt ?? cached?.salt ?? '';
}
