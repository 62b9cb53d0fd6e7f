import { ModelError } from '../model-error.ts';
import type { MatrixShape, ValueFormat } from './matrix-format.ts';
import type { TensorReader } from './tensor-reader.ts';

/** Values by their bits: a sign, 4 bits of exponent with bias 7, 3 of fraction; no infinity. */
export const E4M3 = Float32Array.from({ length: 256 }, (_, bits) => {
  const sign = bits & 0x80 ? -1 : 1;
  const exponent = (bits >> 3) & 15;
  const fraction = bits & 7;
  if (exponent === 15 && fraction === 7) return Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** -9 : sign * (8 + fraction) * 2 ** (exponent - 10);
});

/** Names that a matrix's scales have: of blocks, or of rows or the whole. */
const SCALES = ['weight_scale_inv', 'weight_scale'] as const;

/**
 * FP8: `weight` [rows, columns] of E4M3, and what it is multiplied by: one scale, one for each row, or one
 * for each block of rows and columns.
 * @param block rows and columns of a block, where the configuration says so
 */
export function float8Format(block: readonly [number, number] | null): ValueFormat {
  return {
    kind: 'values',
    holds: (tensors, base) => tensors.dtype(`${base}.weight`) === 'F8_E4M3',
    async values(tensors, base, shape) {
      const [rows, columns] = shape;
      const bytes = await tensors.bytes(`${base}.weight`, ['F8_E4M3'], shape);
      const { scales, blockRows, blockColumns } = await readScales(tensors, base, shape, block);
      const scalesPerRow = Math.ceil(columns / blockColumns);
      const values = new Float32Array(bytes.length);
      for (let row = 0; row < rows; row++) {
        const first = Math.floor(row / blockRows) * scalesPerRow;
        for (let column = 0; column < columns; column++) {
          const scale = scales[first + Math.floor(column / blockColumns)] ?? 0;
          const at = row * columns + column;
          values[at] = (E4M3[bytes[at] ?? 0] ?? 0) * scale;
        }
      }
      return values;
    },
  };
}

async function readScales(
  tensors: TensorReader,
  base: string,
  [rows, columns]: MatrixShape,
  block: readonly [number, number] | null,
) {
  const name = SCALES.map((each) => `${base}.${each}`).find((each) => tensors.shape(each) !== null);
  if (name === undefined) throw new ModelError(`tensor "${base}.weight" has no scales`);
  const scales = await tensors.floats(name);
  const fits = (blockRows: number, blockColumns: number) =>
    Math.ceil(rows / blockRows) * Math.ceil(columns / blockColumns) === scales.length;
  // As many blocks as rows are blocks, if there are to be any.
  const shapes = [...(block ? [block] : []), [rows, columns] as const, [1, columns] as const];
  const found = shapes.find(([blockRows, blockColumns]) => fits(blockRows, blockColumns));
  if (found !== undefined) {
    const [blockRows, blockColumns] = found;
    return { scales, blockRows, blockColumns };
  }
  throw new ModelError(`tensor "${name}" has ${scales.length} scales for [${rows}, ${columns}]`);
}
