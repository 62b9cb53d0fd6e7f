/** Files of JSON, one value a line. */
import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { LIMITS } from '../../limits.ts';

const CHUNK_BYTES = 2 ** 16;
const LINE_BREAK = 0x0a;
/** Milliseconds of lines, with what is done with them, before others have a turn of the event loop. */
const TURN_MS = 5;

export interface Line {
  /** From 1; empty ones count. */
  readonly number: number;
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

/** Each empty line costs a look, and there is nothing in it. */
export class EmptyLinesError extends Error {
  override readonly name = 'EmptyLinesError';
  /** From 1. */
  readonly line: number;

  constructor(line: number, max: number) {
    super(`the file has more than ${max} empty lines`);
    this.line = line;
  }
}

/**
 * Lines in order, and no more in memory than the one at hand and a chunk. Empty ones are left out here: a
 * file may be nothing else, and each line that is given costs a turn of the microtasks.
 * @throws LineTooLongError
 * @throws EmptyLinesError
 */
export async function* readLines(
  path: string,
  maxBytes: number,
  maxEmpty: number = LIMITS.batchEmptyLines,
): AsyncGenerator<Line, void> {
  const file = await open(path, 'r');
  try {
    let rest = Buffer.alloc(0);
    let start = 0;
    let number = 1;
    let numEmpty = 0;
    for (;;) {
      const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(CHUNK_BYTES) });
      if (bytesRead === 0) break;
      let since = performance.now();
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      let at = 0;
      for (let end = bytes.indexOf(LINE_BREAK); end !== -1; end = bytes.indexOf(LINE_BREAK, at)) {
        const length = end - at;
        if (length > maxBytes) throw new LineTooLongError(number, maxBytes);
        if (length === 0 && ++numEmpty > maxEmpty) throw new EmptyLinesError(number, maxEmpty);
        if (length > 0) {
          if (performance.now() - since > TURN_MS) {
            await setImmediate();
            since = performance.now();
          }
          yield {
            number,
            start: start + at,
            length,
            bytes: bytes.subarray(at, end),
            isWhole: true,
          };
        }
        number++;
        at = end + 1;
      }
      start += at;
      rest = bytes.subarray(at);
      if (rest.length > maxBytes) throw new LineTooLongError(number, maxBytes);
    }
    if (rest.length > 0) yield { number, start, length: rest.length, bytes: rest, isWhole: false };
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

  /**
   * Looks at the whole file: a few hundred milliseconds for the largest, in turns.
   * @throws LineTooLongError
   * @throws EmptyLinesError
   */
  static async open(path: string, maxBytes: number): Promise<LineIndex> {
    const index = new LineIndex(await open(path, 'r'));
    try {
      for await (const { start, length } of readLines(path, maxBytes)) {
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
