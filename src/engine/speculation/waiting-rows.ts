/** Hidden states of a sequence's positions that a module has not followed yet: neighbours, the last ones known. */
export class WaitingRows {
  #start = 0;
  readonly #rows: Float32Array[] = [];

  /** Position of the first. */
  get start(): number {
    return this.#start;
  }

  /** Position after the last. */
  get end(): number {
    return this.#start + this.#rows.length;
  }

  /**
   * Takes rows [numTokens, hidden] from a position on, in place of what was there and after it. Where the
   * position is not next to those that wait, these are forgotten.
   */
  put(start: number, rows: Float32Array, numTokens: number): void {
    if (start < this.#start || start > this.end) {
      this.#rows.length = 0;
      this.#start = start;
    }
    this.#rows.length = start - this.#start;
    const width = rows.length / numTokens;
    for (let at = 0; at < numTokens; at++) {
      this.#rows.push(rows.slice(at * width, (at + 1) * width));
    }
  }

  /** Rows [positions, hidden] up to a position, exclusive. The last of them goes on waiting, the others do not. */
  follow(end: number): Float32Array {
    const rows = this.#rows.slice(0, end - this.#start);
    const [first = new Float32Array()] = rows;
    const joined = new Float32Array(rows.length * first.length);
    for (const [at, row] of rows.entries()) joined.set(row, at * first.length);
    this.#rows.splice(0, rows.length - 1);
    this.#start = end - 1;
    return joined;
  }
}
