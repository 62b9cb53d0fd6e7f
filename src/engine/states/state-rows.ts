/** Row of no state: read it is zeros, written it is nowhere. */
export const NO_ROW = -1;

/** Rows of the states' pools. A row that somebody holds keeps what it has. */
export class StateRows {
  readonly numRows: number;
  /** [rows] */
  readonly #numHolders: Int32Array;
  /** The last is taken first: what was given back just now is still in the processor's caches. */
  readonly #free: number[];

  constructor(numRows: number) {
    this.numRows = numRows;
    this.#numHolders = new Int32Array(numRows);
    this.#free = Array.from({ length: numRows }, (_, index) => numRows - 1 - index);
  }

  get numFree(): number {
    return this.#free.length;
  }

  /** A row for one holder; NO_ROW if none is free. */
  take(): number {
    const row = this.#free.pop() ?? NO_ROW;
    if (row !== NO_ROW) this.#numHolders[row] = 1;
    return row;
  }

  hold(row: number): void {
    if (row !== NO_ROW) this.#numHolders[row] = this.numHolders(row) + 1;
  }

  /** One holder less; without any the row is free. */
  giveBack(row: number): void {
    if (row === NO_ROW) return;
    const left = this.numHolders(row) - 1;
    if (left < 0) throw new Error(`row ${row} is free already`);
    this.#numHolders[row] = left;
    if (left === 0) this.#free.push(row);
  }

  numHolders(row: number): number {
    return this.#numHolders[row] ?? 0;
  }
}
