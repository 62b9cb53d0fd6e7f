/** Blocks in memory, within a budget: the one unused for longest makes way. */
export class MemoryBlocks {
  readonly #maxBytes: number;
  /** In order of their last use. */
  readonly #blocks = new Map<string, Uint8Array>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get byteLength(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#blocks.size;
  }

  /** How many of a text's first blocks are kept: the others would drive out these. */
  fits(numBlocks: number, blockBytes: number): number {
    return Math.min(numBlocks, Math.floor(this.#maxBytes / blockBytes));
  }

  get(name: string): Uint8Array | null {
    return this.#blocks.get(name) ?? null;
  }

  /** Keeps a block, unless it alone is larger than the budget. */
  put(name: string, bytes: Uint8Array): void {
    if (bytes.byteLength > this.#maxBytes || this.#blocks.has(name)) return;
    for (const oldest of this.#blocks.keys()) {
      if (this.#bytes + bytes.byteLength <= this.#maxBytes) break;
      this.#remove(oldest);
    }
    this.#blocks.set(name, bytes);
    this.#bytes += bytes.byteLength;
  }

  /** A text's blocks were used: its first ones make way last, since the others are nothing without them. */
  touch(names: readonly string[]): void {
    for (const name of names.toReversed()) {
      const bytes = this.#blocks.get(name);
      if (bytes === undefined) continue;
      this.#blocks.delete(name);
      this.#blocks.set(name, bytes);
    }
  }

  #remove(name: string): void {
    this.#bytes -= this.#blocks.get(name)?.byteLength ?? 0;
    this.#blocks.delete(name);
  }
}
