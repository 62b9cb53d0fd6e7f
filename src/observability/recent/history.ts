export interface Samples<Name extends string> {
  /** Unix times in milliseconds, the oldest first. */
  readonly times: number[];
  /** A value for each time; null where there was none. */
  readonly series: Readonly<Record<Name, (number | null)[]>>;
}

/** Decimal digits that count. */
const DIGITS = 4;

/** The last values of a few series, in memory of a fixed size. */
export class History<Name extends string> {
  readonly names: readonly Name[];
  readonly #times: Float64Array;
  readonly #values: ReadonlyMap<Name, Float64Array>;
  #numAdded = 0;

  /** @param capacity samples that are kept */
  constructor(names: readonly Name[], capacity: number) {
    this.names = names;
    this.#times = new Float64Array(capacity);
    this.#values = new Map(names.map((name) => [name, new Float64Array(capacity)]));
  }

  get size(): number {
    return Math.min(this.#numAdded, this.#times.length);
  }

  /** @param timeMs Unix time @param values NaN where there is none */
  add(timeMs: number, values: Readonly<Record<Name, number>>): void {
    const index = this.#numAdded++ % this.#times.length;
    this.#times[index] = timeMs;
    for (const [name, kept] of this.#values) kept[index] = rounded(values[name]);
  }

  /** The newest value of a series; null if there is none. */
  last(name: Name): number | null {
    const index = (this.#numAdded - 1) % this.#times.length;
    return this.#numAdded === 0 ? null : finite(this.#values.get(name)?.[index]);
  }

  /** Samples that were added after a time. @param timeMs Unix time */
  since(timeMs: number): Samples<Name> {
    const { length } = this.#times;
    const first = this.#numAdded - this.size;
    const indices = Array.from({ length: this.size }, (_, offset) => (first + offset) % length);
    const wanted = indices.filter((index) => (this.#times[index] ?? 0) > timeMs);
    const series = [...this.#values].map(([name, kept]) => [
      name,
      wanted.map((index) => finite(kept[index])),
    ]);
    return {
      times: wanted.map((index) => this.#times[index] ?? 0),
      // Each name has one.
      series: Object.fromEntries(series) as Record<Name, (number | null)[]>,
    };
  }
}

/** Rounds a value once when it is added, since it is reported many times. */
function rounded(value: number): number {
  return Number(value.toPrecision(DIGITS));
}

function finite(value = NaN): number | null {
  return Number.isFinite(value) ? value : null;
}
