/** A file of results that only grows, one JSON object a line. */
import { type FileHandle, open, truncate } from 'node:fs/promises';
import { readLines } from './line-file.ts';
import type { JsonObject } from '../json-object.ts';

/** Bytes that are put together for one write. */
const WRITE_BYTES = 2 ** 18;

interface Pending {
  readonly pieces: readonly Uint8Array[];
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * A result counts once it is on the disk. Results that come while others are written go together in
 * the next write, so that a disk that is slow to sync costs a batch little.
 */
export class ResultLog {
  readonly #file: FileHandle;
  readonly #pending: Pending[] = [];
  #numBytes: number;
  #writing: Promise<void> | null = null;
  /** Why nothing can be added any more: half a line may be at its end. */
  #failure: unknown = null;

  private constructor(file: FileHandle, numBytes: number) {
    this.#file = file;
    this.#numBytes = numBytes;
  }

  /**
   * Opens or makes it. What an earlier process could not finish writing is cut off.
   * @param onResult is told of each result that is there
   */
  static async open(path: string, onResult: (result: JsonObject) => void): Promise<ResultLog> {
    const file = await open(path, 'a', 0o600);
    let numBytes = 0;
    try {
      for await (const { start, length, bytes, isWhole } of readLines(path, Infinity, Infinity)) {
        const result = isWhole ? parse(bytes.toString('utf8')) : null;
        if (result === null) break;
        onResult(result);
        numBytes = start + length + 1;
      }
      await truncate(path, numBytes);
      await file.sync();
    } catch (error) {
      await file.close();
      throw error;
    }
    return new ResultLog(file, numBytes);
  }

  get numBytes(): number {
    return this.#numBytes;
  }

  /**
   * Fulfilled when a line is on the disk.
   * @param pieces of the line, its line break included
   * @throws the error of the file system, of this write or an earlier one
   */
  async append(pieces: readonly Uint8Array[]): Promise<void> {
    if (this.#failure !== null) throw this.#failure;
    for (const { length } of pieces) this.#numBytes += length;
    await new Promise<void>((resolve, reject) => {
      this.#pending.push({ pieces, resolve, reject });
      this.#writing ??= this.#write();
    });
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  async #write(): Promise<void> {
    while (this.#pending.length > 0) {
      const together = this.#pending.splice(0);
      try {
        if (this.#failure !== null) throw this.#failure;
        for (const bytes of gathered(together.flatMap(({ pieces }) => pieces))) {
          await this.#file.appendFile(bytes);
        }
        await this.#file.datasync();
        for (const { resolve } of together) resolve();
      } catch (error) {
        this.#failure = error;
        for (const { reject } of together) reject(error);
      }
    }
    this.#writing = null;
  }
}

/** The same bytes in fewer pieces. */
function* gathered(pieces: readonly Uint8Array[]): Generator<Uint8Array, void> {
  let some: Uint8Array[] = [];
  let numBytes = 0;
  for (const piece of pieces) {
    some.push(piece);
    numBytes += piece.length;
    if (numBytes < WRITE_BYTES) continue;
    yield Buffer.concat(some);
    some = [];
    numBytes = 0;
  }
  if (numBytes > 0) yield Buffer.concat(some);
}

function parse(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}
