import { MICROSOFT_DOMAIN, type GraphBuilder } from '../../onnx/graph-builder.ts';
import type { MatrixSource } from './matrix-source.ts';
import type { RowQuantizer } from './row-quantizer.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { readIntegers } from './stored-blocks.ts';
import { isInRows } from './kept-format.ts';

const LARGEST = 127;
/** What stands for 0 in integers from 0 on. */
const ZERO = 128;

/** A matrix [rows, columns] as 8-bit integers, transposed: a value is stored * its row's scale. */
interface QuantizedColumns {
  /** [columns, rows] */
  readonly values: Int8Array;
  /** [rows] */
  readonly scales: Float32Array;
}

/**
 * Adds `output = input W^T` with 8-bit integers on both sides, W by a scale per row and the input by
 * a scale per token ("W8A8, per channel and per token"). [tokens, columns] becomes [tokens, rows].
 * @param rowsLike a value [tokens]
 */
export function emitRowMatmul(
  graph: GraphBuilder,
  weights: WeightSource,
  source: MatrixSource,
  { output, input, rowsLike }: { output: string; input: string; rowsLike: string },
  quantizer: RowQuantizer,
): void {
  const { name, columns } = source;
  const rows = source.tensors.reduce((sum, tensor) => sum + tensor.rows, 0);
  // The graph is written in the order of its initializers: values, then their scales.
  let quantized: QuantizedColumns | undefined;
  const values = graph.initializer(`${name}.weight_int8`, 'int8', [columns, rows], async () => {
    quantized = await quantize(weights, source, rows);
    return quantized.values;
  });
  const scales = graph.initializer(`${name}.weight_scales`, 'float', [rows], async () => {
    const { scales: made } = quantized ?? (await quantize(weights, source, rows));
    quantized = undefined;
    return made;
  });
  const one = graph.initializer(`${name}.unscaled`, 'float', [1], Float32Array.of(1));
  const activations = quantizer.quantize(input, rowsLike);
  const matmul = graph.node(
    `${output}/Unscaled`,
    'MatMulIntegerToFloat',
    [activations.values, values, one, scales, quantizer.zeroPoint],
    { domain: MICROSOFT_DOMAIN },
  );
  graph.node(output, 'Mul', [matmul, activations.scales]);
}

async function quantize(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  totalRows: number,
): Promise<QuantizedColumns> {
  const values = new Int8Array(columns * totalRows);
  const scales = new Float32Array(totalRows);
  let first = 0;
  for (const { name, rows } of tensors) {
    await forEachRow(weights, name, [rows, columns], (row, integers, scale) => {
      scales[first + row] = scale;
      for (let column = 0; column < columns; column++) {
        values[column * totalRows + first + row] = integers[column] ?? 0;
      }
    });
    first += rows;
  }
  return { values, scales };
}

/**
 * Gives each row of a tensor in 8 bits, with its scale: as it is stored, if it is stored in such rows,
 * else rounded to them.
 * @param use what it is given stays valid until it returns
 */
export async function forEachRow(
  weights: WeightSource,
  name: string,
  [rows, columns]: readonly [rows: number, columns: number],
  use: (row: number, integers: Int8Array, scale: number) => void,
): Promise<void> {
  const integers = new Int8Array(columns);
  const layout = weights.layout?.(name, [rows, columns]) ?? null;
  if (layout !== null && isInRows(layout, columns)) {
    const { values, scales } = await readIntegers(weights, name, [rows, columns]);
    for (let row = 0; row < rows; row++) {
      for (let i = 0; i < columns; i++) integers[i] = (values[row * columns + i] ?? 0) - ZERO;
      use(row, integers, scales[row] ?? 0);
    }
    return;
  }
  const tensor = await weights.get(name, [rows, columns]);
  for (let row = 0; row < rows; row++) {
    const scale = quantizeRow(tensor.subarray(row * columns, (row + 1) * columns), integers);
    use(row, integers, scale);
  }
}

/** Quantizes a row to 8 bits; returns its scale. */
export function quantizeRow(row: Float32Array, integers: Int8Array): number {
  const scale = largestMagnitude(row) / LARGEST;
  const inverse = scale === 0 ? 0 : 1 / scale;
  for (let i = 0; i < row.length; i++) integers[i] = Math.round((row[i] ?? 0) * inverse);
  return scale;
}

function largestMagnitude(values: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < values.length; i++) largest = Math.max(largest, Math.abs(values[i] ?? 0));
  return largest;
}
