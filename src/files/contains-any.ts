import { createReadStream } from 'node:fs';

/** Whether a file of any size has one of some ASCII texts in it. @throws Error when it can't be read */
export async function containsAny(path: string, texts: readonly string[]): Promise<boolean> {
  const overlap = Math.max(...texts.map(({ length }) => length)) - 1;
  let end = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 20 })) {
    // A text may begin in one piece and end in the next.
    const piece = Buffer.concat([end, chunk as Buffer]);
    if (texts.some((text) => piece.includes(text, 0, 'latin1'))) return true;
    end = piece.subarray(Math.max(0, piece.length - overlap));
  }
  return false;
}
