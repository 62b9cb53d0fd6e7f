/**
 * The same bytes, four to a word.
 * @param bytes that begin at a multiple of four in their buffer; up to three at their end are left out
 */
export function foursOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Int32Array {
  // No shift: there may be more than 2 GiB.
  return new Int32Array(buffer, byteOffset, Math.floor(byteLength / 4));
}
