/** How a matrix [rows, columns] is stored whose weights are integers. */
export interface StoredLayout {
  readonly bits: 4 | 8;
  /** Neighbours of a row that share a scale; the last of a row may be fewer. */
  readonly blockSize: number;
  /** Integers that stand for 0 are stored by block; else all are the middle, 8 or 128. */
  readonly hasZeroPoints: boolean;
  /** By place in a stored row, the column that lies there; null where they lie in order. */
  readonly order: Int32Array | null;
}

/** A matrix as it is stored: a weight is (value - zero point) * scale. */
export interface StoredIntegers {
  /** From 0 on, one to a byte, [rows, columns]. */
  readonly values: Uint8Array;
  /** [rows, blocks] */
  readonly scales: Float32Array;
  /** [rows, blocks]; null where they all are the middle. */
  readonly zeroPoints: Uint8Array | null;
}

/** Where a model's weights come from. */
export interface WeightSource {
  /**
   * One tensor as float32, row by row.
   * @param shape the shape it must have
   * @throws {ModelError} if there is no such tensor, or it cannot be read in that shape
   */
  get(name: string, shape: readonly number[]): Promise<Float32Array>;
  /** How a matrix is stored; null, as where this is left out, if its weights are no such integers. */
  layout?(name: string, shape: readonly number[]): StoredLayout | null;
  /**
   * A matrix that has a layout.
   * @throws {ModelError} if it cannot be read in that shape, or is not as the layout says
   */
  integers?(name: string, shape: readonly number[]): Promise<StoredIntegers>;
  /** Releases what the source holds open. */
  close(): Promise<void>;
}
