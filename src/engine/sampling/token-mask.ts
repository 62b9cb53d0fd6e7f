/**
 * Removes the tokens that a grammar forbids.
 * @param logits [vocab]; overwritten
 * @param mask [vocab / 32, rounded up] a bit per token, set for those allowed
 */
export function applyTokenMask(logits: Float32Array, mask: Int32Array): void {
  for (const [index, word] of mask.entries()) {
    if (word === -1) continue;
    const start = index * 32;
    if (word === 0) {
      logits.fill(-Infinity, start, start + 32);
      continue;
    }
    const end = Math.min(start + 32, logits.length);
    for (let id = start; id < end; id++) {
      if (((word >>> (id - start)) & 1) === 0) logits[id] = -Infinity;
    }
  }
}

export function isAllowed(mask: Int32Array, tokenId: number): boolean {
  return (((mask[tokenId >>> 5] ?? 0) >>> (tokenId & 31)) & 1) === 1;
}
