import { blocksPerRow, BLOCK_SIZE } from './quantize-blocks.ts';

/** Columns of a vector, and of the two that lie together; see native/kernels.h. */
export const LANES = 16;
export const PAIR = 2 * LANES;

/** Where the rows of a matrix, which are columns of a product, lie in packed weights. */
export class PackedLayout {
  readonly #rows: number;
  readonly #isGated: boolean;
  readonly numPairs: number;
  /** Columns of the matrix with padding. */
  readonly padded: number;

  /** @param isGated the first half of the rows are a gate's, and lie next to the others */
  constructor(rows: number, columns: number, isGated: boolean) {
    this.#rows = rows;
    this.#isGated = isGated;
    this.numPairs = isGated ? Math.ceil(rows / 2 / LANES) : Math.ceil(rows / PAIR);
    this.padded = blocksPerRow(columns) * BLOCK_SIZE;
  }

  /** Rows with padding. */
  get numPlaces(): number {
    return this.numPairs * PAIR;
  }

  placeOf(row: number): number {
    if (!this.#isGated) return row;
    const half = this.#rows / 2;
    const inHalf = row % half;
    const which = row < half ? 0 : 1;
    return Math.floor(inHalf / LANES) * PAIR + which * LANES + (inHalf % LANES);
  }

  /** Values by row as values by place, zeros where there is no row. */
  place(values: Float32Array): Float32Array {
    const placed = new Float32Array(this.numPlaces);
    for (const [row, value] of values.entries()) placed[this.placeOf(row)] = value;
    return placed;
  }
}
