import { ModelError } from '../model-error.ts';

/** There are more bytes in the file than were read so far, and they are needed. */
export class NeedsMoreBytes extends Error {
  override readonly name = 'NeedsMoreBytes';
}

/** Walks over the first bytes of a GGUF file, and never past the end of either. */
export class HeaderCursor {
  position = 0;
  readonly #bytes: Buffer;
  readonly #fileSize: number;
  readonly #path: string;

  /**
   * @param bytes the first of the file
   * @param path what to call the file in errors
   */
  constructor(bytes: Buffer, fileSize: number, path: string) {
    this.#bytes = bytes;
    this.#fileSize = fileSize;
    this.#path = path;
  }

  /**
   * Claims bytes, so that nothing is allocated for what is not there.
   * @param what they are for, for the error
   * @returns where they begin
   * @throws {ModelError} if the file has not that many
   * @throws {NeedsMoreBytes} if they are not read yet
   */
  take(count: number, what: string): number {
    const start = this.position;
    this.require(count, what);
    if (start + count > this.#bytes.length) throw new NeedsMoreBytes();
    this.position = start + count;
    return start;
  }

  /** Requires bytes as `take` does, without going on. */
  require(count: number, what: string): void {
    const left = this.#fileSize - this.position;
    if (count <= left) return;
    throw new ModelError(
      `${this.#path} is truncated or damaged: ${what} at byte ${this.position} takes ` +
        `${count} bytes or more, but the file has ${left} left`,
    );
  }

  uint8(what: string): number {
    return this.#bytes.readUInt8(this.take(1, what));
  }

  int8(what: string): number {
    return this.#bytes.readInt8(this.take(1, what));
  }

  uint16(what: string): number {
    return this.#bytes.readUInt16LE(this.take(2, what));
  }

  int16(what: string): number {
    return this.#bytes.readInt16LE(this.take(2, what));
  }

  uint32(what: string): number {
    return this.#bytes.readUInt32LE(this.take(4, what));
  }

  int32(what: string): number {
    return this.#bytes.readInt32LE(this.take(4, what));
  }

  float32(what: string): number {
    return this.#bytes.readFloatLE(this.take(4, what));
  }

  /** Rounded above 2^53: as a length it is then greater than every file. */
  uint64(what: string): number {
    const start = this.take(8, what);
    return this.#bytes.readUInt32LE(start) + this.#bytes.readUInt32LE(start + 4) * 2 ** 32;
  }

  int64(what: string): number {
    return Number(this.#bytes.readBigInt64LE(this.take(8, what)));
  }

  float64(what: string): number {
    return this.#bytes.readDoubleLE(this.take(8, what));
  }

  /** With its length before it. */
  string(what: string): string {
    const length = this.uint64(what);
    const start = this.take(length, what);
    return this.#bytes.toString('utf8', start, start + length);
  }

  /** Passes texts, each with its length before it. @returns what reads them */
  strings(count: number, what: string): () => string[] {
    const start = this.position;
    for (let i = 0; i < count; i++) this.take(this.uint64(what), what);
    return () => {
      const cursor = new HeaderCursor(this.#bytes, this.#fileSize, this.#path);
      cursor.position = start;
      return Array.from({ length: count }, () => cursor.string(what));
    };
  }
}
