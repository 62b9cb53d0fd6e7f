import type { MatrixSource } from './matrix-source.ts';

/** How a matrix [rows, columns] is stored whose weights are integers. */
export interface StoredLayout {
  readonly bits: 4 | 8;
  /** Neighbours of a row that share a scale; the last of a row may be fewer. */
  readonly blockSize: number;
  /** Integers that stand for 0 are stored by block; otherwise all are the middle, 8 or 128. */
  readonly hasZeroPoints: boolean;
  /** Offsets are stored by block; left out for none. */
  readonly hasOffsets?: boolean;
  /** By place in a stored row, the column that lies there; null where they lie in order. */
  readonly order: Int32Array | null;
  /**
   * Bits of the precision whose builds keep the integers, if not their own bits. In a checkpoint whose
   * matrices have 4 bits or 8, int4 keeps all, and int8 none.
   */
  readonly keptIn?: 4 | 8;
}

/** A matrix as it is stored: a weight is (value - zero point) * scale + offset. */
export interface StoredIntegers {
  /** From 0 on, one to a byte, [rows, columns]. */
  readonly values: Uint8Array;
  /** [rows, blocks] */
  readonly scales: Float32Array;
  /** [rows, blocks]; null where they all are the middle. */
  readonly zeroPoints: Uint8Array | null;
  /** [rows, blocks]; null or left out where there are none. */
  readonly offsets?: Float32Array | null;
}

/** Weights of native/. */
export interface NativeFormat {
  readonly bits: 4 | 8;
  /** Weights of a row that share a scale; null for all of them. */
  readonly blockSize: 16 | 32 | 64 | null;
  /** Weights of a block also share what is added to them. */
  readonly hasOffsets: boolean;
  /** The integers are the checkpoint's; otherwise they are computed from its weights. */
  readonly isStored: boolean;
}

/** Task of making a matrix for a graph: plain values, which can go to another thread. */
export type MatrixTask = { readonly source: MatrixSource } & (
  | {
      readonly kind: 'floats';
      readonly type: 'float' | 'float16';
      /** [columns, rows] if true, otherwise [rows, columns]. */
      readonly isTransposed: boolean;
    }
  /** For emitRowMatmul. */
  | { readonly kind: 'rows' }
  /** For BlockMatrix. @see BlockFormat.stored */
  | { readonly kind: 'blocks'; readonly bits: 4 | 8; readonly stored: StoredLayout | null }
  /** For addNativeMatrix. @see PackedLayout */
  | ({ readonly kind: 'native'; readonly isGated: boolean } & NativeFormat)
);

/** A matrix as a graph stores it; what a kind of task has no use for is empty. */
export interface MadeMatrix {
  readonly values: Float32Array | Uint16Array | Int8Array | Uint8Array;
  /** As float32, or as float16 if they are integers. */
  readonly scales: Float32Array | Uint16Array;
  readonly zeroPoints: Uint8Array;
  /** See `scales`. */
  readonly offsets?: Float32Array | Uint16Array;
  /** Lets go of its memory, which another matrix takes; left out where that is its own. */
  readonly release?: () => void;
}

/** Where a model's weights come from. */
export interface WeightSource {
  /**
   * One tensor as float32, row by row.
   * @param shape the shape it must have
   * @throws {ModelError} if there is no such tensor, or it cannot be read in that shape
   */
  get(name: string, shape: readonly number[]): Promise<Float32Array>;
  /**
   * A matrix as `get` gives it, in pieces of whole rows, so that not all of it is in memory at once. A
   * piece stays as it is until the next is asked for. Left out where only the whole can be had.
   */
  pieces?(name: string, shape: readonly number[]): AsyncIterable<Float32Array>;
  /** How a tensor is stored, for people, such as `BF16`; null where this is left out, or nothing is known. */
  typeOf?(name: string): string | null;
  /** How a matrix is stored; null, as where this is left out, if its weights are no such integers. */
  layout?(name: string, shape: readonly number[]): StoredLayout | null;
  /**
   * A matrix that has a layout.
   * @throws {ModelError} if it cannot be read in that shape, or is not as the layout says
   */
  integers?(name: string, shape: readonly number[]): Promise<StoredIntegers>;
  /**
   * A matrix as `integers` gives it, in pieces of whole rows. A piece stays as it is until the next is asked for.
   * Left out where only the whole can be had.
   */
  integerPieces?(name: string, shape: readonly number[]): AsyncIterable<StoredIntegers>;
  /** Does a task in another thread, which has the same weights open; null, as if left out, without one. */
  made?(task: MatrixTask): Promise<MadeMatrix> | null;
  /** Releases what the source holds open. */
  close(): Promise<void>;
}

/** A matrix in pieces of whole rows, or in one piece where its source has no smaller ones. */
export function piecesOf(
  weights: WeightSource,
  name: string,
  shape: readonly number[],
): AsyncIterable<Float32Array> {
  return weights.pieces?.(name, shape) ?? inOnePiece(weights, name, shape);
}

/** A source over another, of which some is changed. Tasks are not done in other threads, which know of no changes. */
export function changedWeights(
  weights: WeightSource,
  changes: Partial<Omit<WeightSource, 'close'>>,
): WeightSource {
  return {
    get: (name, shape) => weights.get(name, shape),
    pieces: (name, shape) => piecesOf(weights, name, shape),
    typeOf: (name) => weights.typeOf?.(name) ?? null,
    layout: (name, shape) => weights.layout?.(name, shape) ?? null,
    ...(weights.integers && { integers: weights.integers.bind(weights) }),
    ...(weights.integerPieces && { integerPieces: weights.integerPieces.bind(weights) }),
    ...changes,
    close: () => weights.close(),
  };
}

/** A matrix as the only piece of itself. */
export async function* inOnePiece(
  weights: Pick<WeightSource, 'get'>,
  name: string,
  shape: readonly number[],
): AsyncGenerator<Float32Array, void> {
  yield await weights.get(name, shape);
}
