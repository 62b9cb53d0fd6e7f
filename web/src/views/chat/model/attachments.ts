/** Text files that go with a question. */
import type { Attachment } from './types.ts';

/** Much more than any prompt may have. */
const MAX_BYTES = 2 ** 20;

/** @throws Error saying why a file can't be attached */
export async function readAttachment(file: File): Promise<Attachment> {
  if (file.size > MAX_BYTES) throw new Error('It is larger than 1 MB.');
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    const text = decoder.decode(await file.arrayBuffer());
    if (!text.includes('\0')) return { name: file.name, text };
  } catch {
    // Not text, as said below.
  }
  throw new Error('It is not a text file.');
}
