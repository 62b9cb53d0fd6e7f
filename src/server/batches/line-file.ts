/** Files of JSON, one value a line. */
import { type FileHandle, open } from 'node:fs/promises';

const CHUNK_BYTES = 2 ** 16;
const LINE_BREAK = 0x0a;

export interface Line {
  /** Place in the file, in bytes. */
  readonly start: number;
  readonly length: number;
  readonly bytes: Buffer;
  /** The last one may lack its line break: its writer was cut off. */
  readonly isWhole: boolean;
}

/** A line is longer than lines may be. */
export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError';
  /** From 1. */
  readonly line: number;

  constructor(line: number, maxBytes: number) {
    super(`line ${line} is longer than ${maxBytes} bytes`);
    this.line = line;
  }
}

/**
 * Lines in order, empty ones included, and no more in memory than the one at hand and a chunk.
 * @throws LineTooLongError
 */
export async function* readLines(path: string, maxBytes: number): AsyncGenerator<Line, void> {
  const file = await open(path, 'r');
  try {
    let rest = Buffer.alloc(0);
    let start = 0;
    let number = 1;
    for (;;) {
      const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(CHUNK_BYTES) });
      if (bytesRead === 0) break;
      let bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      for (let end = bytes.indexOf(LINE_BREAK); end !== -1; end = bytes.indexOf(LINE_BREAK)) {
        if (end > maxBytes) throw new LineTooLongError(number, maxBytes);
        yield { start, length: end, bytes: bytes.subarray(0, end), isWhole: true };
        number++;
        start += end + 1;
        bytes = bytes.subarray(end + 1);
      }
      if (bytes.length > maxBytes) throw new LineTooLongError(number, maxBytes);
      rest = bytes;
    }
    if (rest.length > 0) yield { start, length: rest.length, bytes: rest, isWhole: false };
  } finally {
    await file.close();
  }
}

/** Where the lines of a file are that are not empty. */
export class LineIndex {
  readonly #file: FileHandle;
  readonly #starts: number[] = [];
  readonly #lengths: number[] = [];

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** @throws LineTooLongError */
  static async open(path: string, maxBytes: number): Promise<LineIndex> {
    const index = new LineIndex(await open(path, 'r'));
    try {
      for await (const { start, length } of readLines(path, maxBytes)) {
        if (length === 0) continue;
        index.#starts.push(start);
        index.#lengths.push(length);
      }
    } catch (error) {
      await index.close();
      throw error;
    }
    return index;
  }

  get numLines(): number {
    return this.#starts.length;
  }

  /** @param index from 0 */
  async read(index: number): Promise<string> {
    const length = this.#lengths[index] ?? 0;
    const buffer = Buffer.alloc(length);
    await this.#file.read(buffer, 0, length, this.#starts[index] ?? 0);
    return buffer.toString('utf8');
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
