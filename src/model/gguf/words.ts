/** Blocks are read four bytes at a time, wherever they begin. */

/** The low halves of four bytes. */
export const NIBBLES = 0x0f0f0f0f;

/** The same bytes, for words at any place. */
export function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}
