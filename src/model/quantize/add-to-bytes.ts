/** Adds the same to all bytes, in place and four at a time. No sum may be above 255. */
export function addToBytes(bytes: Uint8Array, added: number): void {
  if (added === 0) return;
  const whole = bytes.length - (bytes.length % 4);
  const fours = new Int32Array(bytes.buffer, bytes.byteOffset, whole / 4);
  for (let i = 0; i < fours.length; i++) fours[i] = (fours[i] ?? 0) + added * 0x01010101;
  for (let i = whole; i < bytes.length; i++) bytes[i] = (bytes[i] ?? 0) + added;
}
