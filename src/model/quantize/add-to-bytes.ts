import { foursOf } from '../huggingface/fours-of.ts';

/** Adds the same to all bytes, in place and four at a time. No sum may be above 255. */
export function addToBytes(bytes: Uint8Array, added: number): void {
  if (added === 0) return;
  const fours = foursOf(bytes);
  for (let i = 0; i < fours.length; i++) fours[i] = (fours[i] ?? 0) + added * 0x01010101;
  for (let i = 4 * fours.length; i < bytes.length; i++) bytes[i] = (bytes[i] ?? 0) + added;
}
