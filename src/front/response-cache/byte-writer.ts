/** Values as bytes, one after the other. */
export class ByteWriter {
  #bytes = Buffer.allocUnsafeSlow(1024);
  #length = 0;

  /** A whole number of 32 bits, with sign. */
  int(value: number): void {
    this.#reserve(4);
    this.#length = this.#bytes.writeInt32LE(value, this.#length);
  }

  /** Whole numbers, after their count. */
  ints(values: readonly number[]): void {
    this.int(values.length);
    for (const value of values) this.int(value);
  }

  double(value: number): void {
    this.#reserve(8);
    this.#length = this.#bytes.writeDoubleLE(value, this.#length);
  }

  /** @param text without half surrogate pairs, which have no bytes in UTF-8 */
  text(text: string): void {
    const size = Buffer.byteLength(text);
    this.int(size);
    this.#reserve(size);
    this.#length += this.#bytes.write(text, this.#length);
  }

  /** Bytes, after their count. */
  bytes(bytes: Uint8Array): void {
    this.int(bytes.length);
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Copy of the bytes written, in memory of its own. */
  finish(): Buffer {
    const bytes = Buffer.allocUnsafeSlow(this.#length);
    this.#bytes.copy(bytes, 0, 0, this.#length);
    return bytes;
  }

  #reserve(size: number): void {
    if (this.#length + size <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(2 * this.#bytes.length + size);
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

/** Reads what a `ByteWriter` wrote. Every read throws a RangeError where the bytes end too early. */
export class ByteReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  int(): number {
    const value = this.#bytes.readInt32LE(this.#at);
    this.#at += 4;
    return value;
  }

  ints(): number[] {
    return Array.from({ length: this.count(4) }, () => this.int());
  }

  double(): number {
    const value = this.#bytes.readDoubleLE(this.#at);
    this.#at += 8;
    return value;
  }

  text(): string {
    const end = this.count(1) + this.#at;
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end;
    return text;
  }

  /** A copy, in memory of its own. */
  bytes(): Uint8Array<ArrayBuffer> {
    const end = this.count(1) + this.#at;
    const bytes = new Uint8Array(this.#bytes.subarray(this.#at, end));
    this.#at = end;
    return bytes;
  }

  /** How many items of at least `size` bytes follow. */
  count(size: number): number {
    const count = this.int();
    if (count < 0 || this.#at + count * size > this.#bytes.length) {
      throw new RangeError(`${count} items do not fit into what is left`);
    }
    return count;
  }
}
