/** Files that are there in place of others: of a clone without Git LFS, of a download that failed. */
import { open } from 'node:fs/promises';

/** Bytes from a file's start that show what it is. */
export const START_BYTES = 512;

const POINTER = 'version https://git-lfs.github.com/spec/';

/**
 * @param start of the file; all of it, if it is short
 * @returns what the file is and what helps, as the rest of a sentence; null where it may be what its
 *   name says
 */
export function standIn(start: Uint8Array): string | null {
  const text = Buffer.from(start.subarray(0, START_BYTES)).toString('latin1').trim();
  if (text.startsWith(POINTER)) {
    return 'is a Git LFS pointer, not the file itself: run `git lfs pull` in its folder';
  }
  if (/^(?:\xef\xbb\xbf)?<(?:!doctype html|html)\b/i.test(text)) {
    return 'is an HTML page, not the file itself: download it again';
  }
  return null;
}

/**
 * Checks a file that is not text in the same way; short texts are errors that servers send in its
 * place.
 */
export function standInForBinary(start: Uint8Array): string | null {
  const known = standIn(start);
  if (known !== null || start.length >= START_BYTES) return known;
  const text = Buffer.from(start).toString('latin1').trim();
  if (!/^[\x20-\x7e\r\n\t]+$/.test(text)) return null;
  return `is a text, not the file itself: ${JSON.stringify(text)}`;
}

/** Checks a file that is not open. @throws Error when it can't be read */
export async function standInForBinaryAt(path: string): Promise<string | null> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(START_BYTES), 0, START_BYTES, 0);
    return standInForBinary(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}
