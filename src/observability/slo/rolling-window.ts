/** The last values of something. */
export class RollingWindow {
  readonly #values: Float64Array;
  #numAdded = 0;

  /** @param size how many values are kept */
  constructor(size: number) {
    this.#values = new Float64Array(size);
  }

  add(value: number): void {
    this.#values[this.#numAdded++ % this.#values.length] = value;
  }

  get size(): number {
    return Math.min(this.#numAdded, this.#values.length);
  }

  /** The values below which these shares of all are, by nearest rank; NaN where there are none. */
  quantiles<S extends readonly number[]>(...shares: S): { -readonly [K in keyof S]: number } {
    const sorted = this.#values.slice(0, this.size).sort();
    const values = shares.map((share) => sorted[Math.ceil(share * sorted.length) - 1] ?? NaN);
    // As many as there are shares.
    return values as { -readonly [K in keyof S]: number };
  }
}
