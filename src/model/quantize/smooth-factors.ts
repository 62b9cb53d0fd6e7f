import { piecesOf, type WeightSource } from '../huggingface/weights.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';

/** The largest magnitude in each column of a matrix. */
export async function largestOfColumns(
  weights: WeightSource,
  { tensors, columns }: Pick<MatrixSource, 'tensors' | 'columns'>,
): Promise<Float32Array> {
  const largest = new Float32Array(columns);
  for (const { name, rows } of tensors) {
    for await (const piece of piecesOf(weights, name, [rows, columns])) {
      for (let i = 0; i < piece.length; i++) {
        const column = i % columns;
        largest[column] = Math.max(largest[column] ?? 0, Math.abs(piece[i] ?? 0));
      }
    }
  }
  return largest;
}

/**
 * Factors that weights' columns are multiplied by, and their channels of activations divided by, so
 * that both become equally large (Xiao et al.: "SmoothQuant", ICML 2023, with alpha 1/2).
 * @param reaches how large each channel gets
 * @param weights the largest magnitude of each column
 */
export function smoothFactors(reaches: Float32Array, weights: Float32Array): Float32Array {
  return weights.map((weight, column) => {
    const reach = reaches[column] ?? 0;
    // A channel that is always 0, or that nothing reads, stays.
    return weight > 0 && reach > 0 ? Math.sqrt(reach / weight) : 1;
  });
}
