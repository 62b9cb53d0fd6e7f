import { describe, expect, test } from 'vitest';
import { headFormat } from '../../src/model/native/native-format.ts';
import { quantizeRow } from '../../src/model/quantize/make-rows.ts';
import {
  floatMatrix,
  type Matrix,
  packedValues,
  type StoredBlocks,
  storedMatrix,
  weightSource,
} from '../support/native-matrices.ts';
import { floats, type NodeCall, randomNumbers, runNode } from '../support/native-node.ts';

const SHAPES = [
  [1, 1],
  [5, 3],
  [33, 64],
  [31, 100],
  [70, 65],
  [100, 1030],
] as const;

const STORED: readonly StoredBlocks[] = [
  { bits: 4, blockSize: 32 },
  { bits: 4, blockSize: 64 },
  { bits: 4, blockSize: 32, stores: 'offsets' },
  { bits: 4, blockSize: 64, stores: 'zero points' },
  { bits: 4, blockSize: 16, stores: 'offsets' },
  { bits: 8, blockSize: 16 },
  { bits: 8, blockSize: 32, stores: 'offsets' },
  { bits: 8, blockSize: 128, stores: 'zero points' },
];

/** Session that looks up rows of a matrix that is packed as for a product. */
async function lookup(
  rows: number,
  columns: number,
  matrix: Matrix,
  ids: readonly number[],
): Promise<{ readonly call: NodeCall; readonly output: Float32Array }> {
  const source = { name: 'm', tensors: [{ name: 'm', rows }], columns };
  const format = headFormat(weightSource(matrix), source, 'int8');
  const { bits, blockSize } = format;
  const { values, scales, offsets } = await packedValues(matrix, columns, format);
  const output = new Float32Array(ids.length * columns);
  const call: NodeCall = {
    opType: blockSize === null ? 'Rows8' : 'RowsBlocks',
    attributes: {
      in_features: BigInt(columns),
      out_features: BigInt(rows),
      ...(blockSize !== null && { bits: BigInt(bits), block_size: BigInt(blockSize) }),
    },
    inputs: [
      { type: 'int64', shape: [ids.length], data: BigInt64Array.from(ids, BigInt) },
      values,
      scales,
      ...(offsets ? [offsets] : []),
    ],
    outputs: [floats([ids.length, columns], output)],
  };
  return { call, output };
}

/** All rows, the last ones first, and some of them again. */
const idsOf = (rows: number) =>
  Array.from({ length: rows + 3 }, (_, at) => (2 * rows - 1 - at) % rows);

describe.each(SHAPES)('%i rows of %i', (rows, columns) => {
  test('of 8 bits are integers times a scale', async () => {
    const values = randomNumbers(1, rows * columns);
    const ids = idsOf(rows);
    const { call, output } = await lookup(rows, columns, floatMatrix(values), ids);
    runNode(call, null, 2);
    const wanted = ids.flatMap((id) => {
      const integers = new Int8Array(columns);
      const scale = quantizeRow(values.slice(id * columns, (id + 1) * columns), integers);
      return Array.from(integers, (x) => Math.fround(x * Math.fround(scale)));
    });
    expect([...output]).toEqual(wanted);
  });

  test.each(STORED)('are what a checkpoint has: %j', async (blocks) => {
    const width = columns + 128;
    const matrix = storedMatrix(rows, width, blocks);
    const ids = idsOf(rows);
    const { call, output } = await lookup(rows, width, matrix, ids);
    runNode(call);
    const wanted = ids.flatMap((id) => [...matrix.values.subarray(id * width, (id + 1) * width)]);
    const largest = wanted.reduce((max, value) => Math.max(max, Math.abs(value)), 1e-6);
    // Zero points times scales are float16 in the operator.
    const tolerance = (blocks.stores === 'zero points' ? 1e-3 : 1e-6) * largest;
    const worst = wanted.reduce(
      (max, value, at) => Math.max(max, Math.abs((output[at] ?? NaN) - value)),
      0,
    );
    expect(worst).toBeLessThanOrEqual(tolerance);
  });
});

test.each([-1, 33, 2 ** 40])('an id that is no row is refused: %i', async (id) => {
  const { call } = await lookup(33, 64, floatMatrix(randomNumbers(1, 33 * 64)), [0, id]);
  expect(() => runNode(call)).toThrow('an id is out of range');
});

test('a matrix of another size is refused', async () => {
  const { call } = await lookup(33, 64, floatMatrix(randomNumbers(1, 33 * 64)), [0]);
  const attributes = { ...call.attributes, out_features: 65n };
  expect(() => runNode({ ...call, attributes })).toThrow('weights are of another size');
});
