/** Files of images within texts: in base64, or as data URLs. */
import { ownTurn } from '../../own-turn.ts';

const DATA_URL = /^data:(?:image\/[\w.+-]{1,100}|application\/octet-stream)?;base64,/i;

/** Characters that are decoded in a turn of the event loop: some 2 ms. A multiple of 4. */
const PIECE = 2 ** 20;

/** The base64 of a data URL; null for another type than an image's, or another encoding. */
export function dataUrlContent(url: string): string | null {
  const [prefix] = DATA_URL.exec(url) ?? [];
  return prefix === undefined ? null : url.slice(prefix.length);
}

/** Bytes that a text in base64 comes to; it may lack the signs at its end. */
export function base64Bytes(text: string): number {
  return Math.floor(((text.length - paddingOf(text)) * 3) / 4);
}

/** Both alphabets of base64; null for a text with anything else, spaces too. */
export async function decodeBase64(text: string): Promise<Buffer | null> {
  const padding = paddingOf(text);
  const isWhole = padding === 0 ? text.length % 4 !== 1 : text.length % 4 === 0;
  if (!isWhole) return null;
  const bytes = Buffer.allocUnsafeSlow(base64Bytes(text));
  let numBytes = 0;
  for (let at = 0; at < text.length; at += PIECE) {
    if (at > 0) await ownTurn();
    // Node skips what is no base64, and ends at the first `=`: then it is less than it should be.
    numBytes += bytes.write(text.slice(at, at + PIECE), numBytes, 'base64');
  }
  return numBytes === bytes.length ? bytes : null;
}

function paddingOf(text: string): number {
  if (text.endsWith('==')) return 2;
  return text.endsWith('=') ? 1 : 0;
}
