import type { StoredIntegers, StoredLayout } from '../huggingface/weights.ts';
import type { TensorReader } from './tensor-reader.ts';

/** [rows, columns] of a matrix. */
export type MatrixShape = readonly [rows: number, columns: number];

/** How a kind of checkpoint stores a matrix, the names of whose tensors begin with `base`. */
export type MatrixFormat = IntegerFormat | ValueFormat;

interface AnyFormat {
  /** Whether a matrix is stored in this format; otherwise it is as in any other checkpoint. */
  holds(tensors: TensorReader, base: string): boolean;
}

/** Integers with scales. */
export interface IntegerFormat extends AnyFormat {
  readonly kind: 'integers';
  /**
   * Null where their tensors do not fit together.
   * @param order of the columns in a stored row, where they are in another one
   */
  layout(
    tensors: TensorReader,
    base: string,
    shape: MatrixShape,
    order: Int32Array | null,
  ): StoredLayout | null;
  /** @throws {ModelError} if the tensors are not of that shape */
  integers(
    tensors: TensorReader,
    base: string,
    shape: MatrixShape,
    layout: StoredLayout,
  ): Promise<StoredIntegers>;
}

/** Other numbers, of which only the values can be had. */
export interface ValueFormat extends AnyFormat {
  readonly kind: 'values';
  /** @throws {ModelError} if the tensors are not of that shape */
  values(tensors: TensorReader, base: string, shape: MatrixShape): Promise<Float32Array>;
}
