import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { fromBinary } from '@bufbuild/protobuf';
import { expect, onTestFinished, test } from 'vitest';

import { BlockMatrix } from '../../../src/model/quantize/block-matrix.ts';
import { emptyBlocks, quantizeRows } from '../../../src/model/quantize/quantize-blocks.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import { GraphBuilder } from '../../../src/onnx/graph-builder.ts';
import { ModelProtoSchema } from '../../../src/onnx/onnx_pb.ts';
import { IoBinding } from '../../../src/ort/io-binding.ts';
import { Session } from '../../../src/ort/session.ts';
import { Tensor } from '../../../src/ort/tensor.ts';
import { dequantize, multiplyTransposed } from '../../support/block-reference.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const PARTS = [
  { name: 'first', rows: 24 },
  { name: 'second', rows: 40 },
];
const ROWS = 64;
const weights = new RandomWeights(11);

/** Matrix that the graph's stands for, once quantized. */
async function quantizedMatrix(columns: number, bits: 4 | 8): Promise<Float32Array> {
  const blocks = emptyBlocks(ROWS, columns, bits);
  let firstRow = 0;
  for (const { name, rows } of PARTS) {
    quantizeRows(await weights.get(name, [rows, columns]), columns, bits, blocks, firstRow);
    firstRow += rows;
  }
  return dequantize(blocks, ROWS, columns, bits);
}

/** Writes a graph with products and lookups of one matrix, and runs it. */
async function runGraph(
  columns: number,
  bits: 4 | 8,
  input: Float32Array<ArrayBuffer>,
  ids: BigInt64Array<ArrayBuffer>,
) {
  const graph = new GraphBuilder('matrix');
  graph.input('x', 'float', ['rows', columns]);
  graph.input('ids', 'int64', ['tokens']);
  const source = { name: 'matrix', tensors: PARTS, columns };
  const matrix = new BlockMatrix(graph, weights, source, {
    kind: 'blocks',
    bits,
    activations: 'float',
  });
  graph.output(matrix.multiply('product', 'x'), 'float', ['rows', ROWS]);
  graph.output(matrix.gather('found', 'ids'), 'float', ['tokens', columns]);
  const path = join(await temporaryDirectory(), 'matrix.onnx');
  await graph.write(path);

  const session = new Session(path, { intraOpThreads: 1 });
  const rows = input.length / columns;
  const product = new Float32Array(rows * ROWS);
  const found = new Float32Array(ids.length * columns);
  const tensors = [
    Tensor.over('float', [rows, columns], input),
    Tensor.over('int64', [ids.length], ids),
    Tensor.over('float', [rows, ROWS], product),
    Tensor.over('float', [ids.length, columns], found),
  ] as const;
  const binding = new IoBinding(session);
  onTestFinished(() => {
    for (const tensor of tensors) tensor.release();
    session.release();
  });
  binding.bindInput('x', tensors[0]);
  binding.bindInput('ids', tensors[1]);
  binding.bindOutput('product', tensors[2]);
  binding.bindOutput('found', tensors[3]);
  session.run(binding);
  return { product, found };
}

// 64 fills its block, 96 and 176 leave the last one half and three quarters full.
test.each([
  [64, 8],
  [96, 8],
  [176, 8],
  [64, 4],
  [96, 4],
  [176, 4],
] as const)('ONNX Runtime reads %i columns of %i bits as we wrote them', async (columns, bits) => {
  const input = await weights.get('input', [3, columns]);
  const ids = BigInt64Array.of(0n, 63n, 24n, 23n);
  const { product, found } = await runGraph(columns, bits, Float32Array.from(input), ids);

  const matrix = await quantizedMatrix(columns, bits);
  ids.forEach((id, i) => {
    const row = matrix.subarray(Number(id) * columns, (Number(id) + 1) * columns);
    found.subarray(i * columns, (i + 1) * columns).forEach((value, column) => {
      expect(value).toBeCloseTo(row[column] ?? NaN, 6);
    });
  });

  const expected = multiplyTransposed(input, matrix, 3, ROWS, columns);
  // The product rounds its input to 8 bits per block: half a step on each of its terms, at random.
  const step = Math.max(...input.map(Math.abs)) / 127;
  const tolerance = 4 * (step / 2) * 0.02 * Math.sqrt(columns);
  expect(Math.max(...expected.map(Math.abs))).toBeGreaterThan(10 * tolerance);
  product.forEach((value, i) => {
    expect(Math.abs(value - (expected[i] ?? NaN))).toBeLessThan(tolerance);
  });
});

// Without them CUDA takes 0, other than the CPU and WebGPU.
test('lookups come with zero points', async () => {
  const graph = new GraphBuilder('matrix');
  graph.input('ids', 'int64', ['tokens']);
  const source = { name: 'matrix', tensors: PARTS, columns: 128 };
  const format = { kind: 'blocks', bits: 8, activations: 'float16' } as const;
  const found = new BlockMatrix(graph, weights, source, format).gather('found', 'ids');
  graph.output(found, 'float16', ['tokens', 128]);
  const path = join(await temporaryDirectory(), 'matrix.onnx');
  await graph.write(path);
  const { node = [], initializer = [] } =
    fromBinary(ModelProtoSchema, await readFile(path)).graph ?? {};
  const lookup = node.find(({ opType }) => opType === 'GatherBlockQuantized');
  const zeroPoints = initializer.find(({ name }) => name === lookup?.input[3]);
  expect(zeroPoints?.dims).toEqual([64n, 2n, 1n]);
});
