import { changedWeights, piecesOf, type WeightSource } from '../huggingface/weights.ts';

/** Factors of the values of a tensor [rows, columns], or [rows]; 1 where left out. */
export interface TensorFactor {
  readonly rows?: Float32Array;
  readonly columns?: Float32Array;
  /** Offset that a model adds to the values before it uses them: the factors apply to the sum. */
  readonly offset?: number;
}

/** By name of the tensor. */
export type TensorFactors = ReadonlyMap<string, TensorFactor>;

/** A checkpoint whose tensors are multiplied by factors. */
export function smoothedWeights(weights: WeightSource, factors: TensorFactors): WeightSource {
  if (factors.size === 0) return weights;
  return changedWeights(weights, {
    async get(name, shape) {
      const values = await weights.get(name, shape);
      const factor = factors.get(name);
      return factor === undefined ? values : multiplied(values, factor, widthOf(shape), 0);
    },
    pieces(name, shape) {
      const pieces = piecesOf(weights, name, shape);
      const factor = factors.get(name);
      return factor === undefined ? pieces : multipliedPieces(pieces, factor, widthOf(shape));
    },
    // Integers of the checkpoint are no longer valid after multiplication.
    layout: (name, shape) => (factors.has(name) ? null : (weights.layout?.(name, shape) ?? null)),
  });
}

function widthOf([, ...columns]: readonly number[]): number {
  return columns.reduce((product, size) => product * size, 1);
}

async function* multipliedPieces(
  pieces: AsyncIterable<Float32Array>,
  factor: TensorFactor,
  width: number,
): AsyncGenerator<Float32Array, void> {
  let row = 0;
  for await (const piece of pieces) {
    yield multiplied(piece, factor, width, row);
    row += piece.length / width;
  }
}

function multiplied(
  values: Float32Array,
  { rows, columns, offset = 0 }: TensorFactor,
  width: number,
  firstRow: number,
): Float32Array {
  const result = new Float32Array(values.length);
  for (let start = 0, row = firstRow; start < values.length; start += width, row++) {
    const ofRow = rows?.[row] ?? 1;
    for (let i = 0; i < width; i++) {
      const factor = ofRow * (columns?.[i] ?? 1);
      result[start + i] = (offset + (values[start + i] ?? 0)) * factor - offset;
    }
  }
  return result;
}
