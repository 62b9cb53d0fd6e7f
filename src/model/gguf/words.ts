/** Blocks are read four bytes at a time, wherever they begin. */

/** The low halves of four bytes. */
export const NIBBLES = 0x0f0f0f0f;

/** Two bytes at any place, the lower one first. */
export function shortOf(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8);
}

/** The same bytes, for words at any place. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
