import { ModelError } from '../model-error.ts';
import type { IntegerFormat, MatrixShape } from './matrix-format.ts';
import type { TensorReader } from './tensor-reader.ts';
import { transposed, unpackAlongColumns, unpackAlongRows } from './unpack.ts';

export interface GptqOptions {
  /** Weights that share a scale; -1 for all of a row. */
  readonly groupSize: number;
  /** Zero points are the middle everywhere. */
  readonly isSymmetric: boolean;
  /** Amount to add to stored zero points: 1, but 0 in `gptq_v2`. */
  readonly zeroOffset: 0 | 1;
}

/**
 * GPTQ as GPTQModel and AutoGPTQ store it: `qweight` [columns / integers in a word, rows], `scales` [groups, rows],
 * `qzeros` [groups, rows / integers in a word], `g_idx` [columns].
 */
export function gptqFormat({ groupSize, isSymmetric, zeroOffset }: GptqOptions): IntegerFormat {
  return {
    kind: 'integers',
    holds: (tensors, base) => tensors.shape(`${base}.qweight`) !== null,
    layout(tensors, base, [rows, columns], order) {
      const [words = 0, width] = tensors.shape(`${base}.qweight`) ?? [];
      const [groups = 0] = tensors.shape(`${base}.scales`) ?? [];
      const bits = (words * 32) / columns;
      if ((bits !== 4 && bits !== 8) || width !== rows) return null;
      const blockSize = blockSizeOf(groups, columns, groupSize);
      if (blockSize === null) return null;
      return { bits, blockSize, hasZeroPoints: !isSymmetric, order };
    },
    async integers(tensors, base, [rows, columns], { bits, blockSize, order, hasZeroPoints }) {
      const groups = Math.ceil(columns / blockSize);
      const perWord = 32 / bits;
      const words = await tensors.words(`${base}.qweight`, [columns / perWord, rows]);
      const byColumn = unpackAlongColumns(words, [columns, rows], { bits });
      const zeroWords = await tensors.words(`${base}.qzeros`, [groups, Math.ceil(rows / perWord)]);
      const zeros = unpackAlongRows(zeroWords, [groups, rows], { bits });
      const mask = 2 ** bits - 1;
      for (const [index, zero] of zeros.entries()) zeros[index] = (zero + zeroOffset) & mask;
      const middle = 2 ** (bits - 1);
      const isMiddle = !hasZeroPoints && zeros.every((zero) => zero === middle);
      return {
        values: transposed(inOrder(byColumn, order, rows), [columns, rows]),
        scales: await scalesOf(tensors, base, [rows, groups]),
        zeroPoints: isMiddle ? null : transposed(zeros, [groups, rows]),
      };
    },
  };
}

/** Weights of a group; null where there are not as many groups as there should be. */
export function blockSizeOf(groups: number, columns: number, groupSize: number): number | null {
  const size = groups === 1 || groupSize <= 0 ? columns : groupSize;
  return Math.ceil(columns / size) === groups ? size : null;
}

/** Scales [groups, rows] as [rows, groups]. */
export async function scalesOf(
  tensors: TensorReader,
  base: string,
  [rows, groups]: MatrixShape,
): Promise<Float32Array> {
  const scales = await tensors.floats(`${base}.scales`);
  if (scales.length !== rows * groups) {
    throw new ModelError(`tensor "${base}.scales" is not [${groups}, ${rows}]`);
  }
  return transposed(scales, [groups, rows]);
}

function inOrder(byColumn: Uint8Array, order: Int32Array | null, rows: number): Uint8Array {
  if (order === null) return byColumn;
  const sorted = new Uint8Array(byColumn.length);
  for (const [place, column] of order.entries()) {
    sorted.set(byColumn.subarray(column * rows, (column + 1) * rows), place * rows);
  }
  return sorted;
}
