/** Writes keys and values to a slot of the KV cache that were computed before and kept elsewhere. */
export interface LoadOperation {
  readonly type: 'load';
  readonly slot: number;
  /** Position of the first block. */
  readonly start: number;
  /** One after the other, each of `TIER_BLOCK` positions. */
  readonly blocks: readonly Uint8Array[];
}
