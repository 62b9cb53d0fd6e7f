import type { FileHandle } from 'node:fs/promises';

import { ModelError } from './model-error.ts';

/**
 * Fills `target` with the bytes of an open file from `offset` on.
 * @param what what is being read, for the error
 * @throws {ModelError} if the file ends before
 */
export async function readRange(
  file: FileHandle,
  offset: number,
  target: Uint8Array,
  what: string,
): Promise<void> {
  for (let done = 0; done < target.byteLength;) {
    const { bytesRead } = await file.read(target, done, target.byteLength - done, offset + done);
    if (bytesRead === 0) {
      throw new ModelError(`${what}: the file ended while it was read`);
    }
    done += bytesRead;
  }
}

/**
 * A range of an open file in pieces of `pieceBytes`, the last one maybe shorter: each is read while the one
 * before it is used, and stays as it is until the next is asked for.
 * @throws {ModelError} as readRange
 */
export async function* readPieces(
  file: FileHandle,
  { offset, byteLength }: { readonly offset: number; readonly byteLength: number },
  pieceBytes: number,
  what: string,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  const size = Math.min(pieceBytes, byteLength);
  const buffers = [new Uint8Array(size), new Uint8Array(size)] as const;
  const read = async (start: number, index: number) => {
    const piece = buffers[index % 2 === 0 ? 0 : 1].subarray(0, Math.min(size, byteLength - start));
    await readRange(file, offset + start, piece, what);
    return piece;
  };
  let next: Promise<Uint8Array<ArrayBuffer>> | null = byteLength > 0 ? read(0, 0) : null;
  try {
    for (let index = 1; next !== null; index++) {
      const piece = await next;
      next = size * index < byteLength ? read(size * index, index) : null;
      yield piece;
    }
  } finally {
    // A reader that stops early may close the file.
    await next?.catch(() => {});
  }
}
