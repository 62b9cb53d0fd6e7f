/** Content of a file that has a text's tokens. */
import { webcrypto } from 'node:crypto';
import { LIMITS } from '../../limits.ts';
import type { SlotText } from './slot-texts.ts';

/** Raised whenever the header or the order of the bytes changes. */
const LAYOUT_VERSION = 1;
/** Text in JSON, filled up with spaces. */
export const HEADER_BYTES = 8192;
const TOKEN_BYTES = Int32Array.BYTES_PER_ELEMENT;

/** Owner and name of a file, and the model whose tokens it has: each is told in its header. */
export type FileFacts = Readonly<Record<'model' | 'owner' | 'name', string>>;

/** Bytes of a file. */
export function bytesOfText(numTokens: number): number {
  return HEADER_BYTES + numTokens * TOKEN_BYTES;
}

export async function writtenText(facts: FileFacts, text: SlotText): Promise<Buffer> {
  const { buffer, byteOffset, byteLength } = text.tokenIds;
  const tokens = Buffer.from(buffer, byteOffset, byteLength);
  const told = { format: 'chairlift-slot', layout: LAYOUT_VERSION, ...facts };
  const known = JSON.stringify({
    ...told,
    cacheSalt: text.cacheSalt,
    tokens: text.tokenIds.length,
  });
  const hashed = await webcrypto.subtle.digest(
    'SHA-256',
    Buffer.concat([Buffer.from(known), tokens]),
  );
  const digest = Buffer.from(hashed).toString('hex');
  const header = Buffer.alloc(HEADER_BYTES, ' ');
  const line = JSON.stringify({ known, digest });
  if (header.write(line) < Buffer.byteLength(line)) throw new Error('the header is too long');
  return Buffer.concat([header, tokens]);
}

/** @returns null if the file is damaged, or not what `facts` say */
export async function readText(facts: FileFacts, content: Buffer): Promise<SlotText | null> {
  if (content.length < HEADER_BYTES || content.length % TOKEN_BYTES !== 0) return null;
  const cacheSalt = saltOf(content.toString('utf8', 0, HEADER_BYTES));
  if (cacheSalt === null || cacheSalt.length > LIMITS.shortTextCharacters) return null;
  // A copy begins where numbers of four bytes may.
  const tokenIds = new Int32Array(new Uint8Array(content.subarray(HEADER_BYTES)).buffer);
  const text = { tokenIds, cacheSalt };
  return content.equals(await writtenText(facts, text)) ? text : null;
}

/** The one field of the header that is not known otherwise. */
function saltOf(header: string): string | null {
  try {
    const { known } = JSON.parse(header) as { readonly known?: unknown };
    const { cacheSalt } = JSON.parse(String(known)) as { readonly cacheSalt?: unknown };
    return typeof cacheSalt === 'string' ? cacheSalt : null;
  } catch {
    return null;
  }
}
