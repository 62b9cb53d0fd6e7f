import { ModelError } from '../model-error.ts';
import type { IntegerFormat, MatrixShape } from './matrix-format.ts';
import type { TensorReader } from './tensor-reader.ts';
import { unpackAlongColumns, unpackAlongRows } from './unpack.ts';

const GROUP_SIZES = [16, 32, 64, 128, 256, 512, 1024];

/**
 * `pack-quantized` of compressed-tensors: `weight_packed` [rows, words], `weight_scale` [rows, groups],
 * `weight_zero_point` [rows / integers in a word, groups], `weight_g_idx` [columns].
 * @param groupSizes that the configuration names
 */
export function packQuantizedFormat(groupSizes: readonly number[] = []): IntegerFormat {
  return {
    kind: 'integers',
    holds: (tensors, base) => tensors.shape(`${base}.weight_packed`) !== null,
    layout(tensors, base, [rows, columns], order) {
      const [height, words = 0] = tensors.shape(`${base}.weight_packed`) ?? [];
      // The last word of a row may be filled in part.
      const bits =
        words === Math.ceil(columns / 8) ? 4 : words === Math.ceil(columns / 4) ? 8 : null;
      const blockSize = scaleBlock(tensors, base, [rows, columns], groupSizes);
      if (height !== rows || bits === null || blockSize === null) return null;
      const hasZeroPoints = tensors.shape(`${base}.weight_zero_point`) !== null;
      return { bits, blockSize, hasZeroPoints, order };
    },
    async integers(tensors, base, [rows, columns], { bits, blockSize, order, hasZeroPoints }) {
      const perWord = 32 / bits;
      const shape = [rows, Math.ceil(columns / perWord)];
      const words = await tensors.words(`${base}.weight_packed`, shape);
      const values = unpackAlongRows(words, [rows, columns], { bits });
      const groups = Math.ceil(columns / blockSize);
      let zeroPoints: Uint8Array | null = null;
      if (hasZeroPoints) {
        const name = `${base}.weight_zero_point`;
        const zeros = await tensors.words(name, [Math.ceil(rows / perWord), groups]);
        zeroPoints = unpackAlongColumns(zeros, [rows, groups], { bits });
      }
      return {
        values: order === null ? values : inOrder(values, order, rows),
        scales: await weightScales(tensors, base, [rows, groups]),
        zeroPoints,
      };
    },
  };
}

/**
 * `int-quantized` of compressed-tensors: `weight` [rows, columns] of int8, `weight_scale` and
 * `weight_zero_point` [rows, groups].
 * @param groupSizes that the configuration names
 */
export function intQuantizedFormat(groupSizes: readonly number[] = []): IntegerFormat {
  return {
    kind: 'integers',
    holds: (tensors, base) => tensors.dtype(`${base}.weight`) === 'I8',
    layout(tensors, base, shape) {
      const blockSize = scaleBlock(tensors, base, shape, groupSizes);
      if (blockSize === null) return null;
      const hasZeroPoints = tensors.shape(`${base}.weight_zero_point`) !== null;
      return { bits: 8, blockSize, hasZeroPoints, order: null };
    },
    async integers(tensors, base, [rows, columns], { blockSize, hasZeroPoints }) {
      const unsigned = async (name: string, shape: readonly number[]) => {
        const bytes = await tensors.bytes(`${base}.${name}`, ['I8'], shape);
        return bytes.map((byte) => byte ^ 0x80);
      };
      const groups = Math.ceil(columns / blockSize);
      return {
        values: await unsigned('weight', [rows, columns]),
        scales: await weightScales(tensors, base, [rows, groups]),
        zeroPoints: hasZeroPoints ? await unsigned('weight_zero_point', [rows, groups]) : null,
      };
    },
  };
}

/** Weights of a row that share a scale; a single scale is for the whole matrix. */
function scaleBlock(
  tensors: TensorReader,
  base: string,
  [rows, columns]: MatrixShape,
  groupSizes: readonly number[],
): number | null {
  const shape = tensors.shape(`${base}.weight_scale`);
  if (shape === null) return null;
  const count = shape.reduce((product, dim) => product * dim, 1);
  if (count === 1 || count === rows) return columns;
  const groups = count / rows;
  const named = groupSizes.find((size) => Math.ceil(columns / size) === groups);
  if (named !== undefined) return named;
  if (columns % groups === 0) return columns / groups;
  // The last group of a row may be smaller.
  return GROUP_SIZES.find((size) => Math.ceil(columns / size) === groups) ?? null;
}

async function weightScales(
  tensors: TensorReader,
  base: string,
  [rows, groups]: MatrixShape,
): Promise<Float32Array> {
  const scales = await tensors.floats(`${base}.weight_scale`);
  const [only = 0] = scales;
  if (scales.length === 1) return new Float32Array(rows * groups).fill(only);
  if (scales.length === rows * groups) return scales;
  throw new ModelError(`tensor "${base}.weight_scale" is not [${rows}, ${groups}]`);
}

function inOrder(values: Uint8Array, order: Int32Array, rows: number): Uint8Array {
  const columns = order.length;
  const sorted = new Uint8Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (const [place, column] of order.entries()) {
      sorted[row * columns + place] = values[row * columns + column] ?? 0;
    }
  }
  return sorted;
}
