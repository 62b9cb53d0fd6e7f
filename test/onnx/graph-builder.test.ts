import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { InferenceSession, Tensor } from 'onnxruntime-node';
import { expect, test } from 'vitest';

import { GraphBuilder, MICROSOFT_DOMAIN } from '../../src/onnx/graph-builder.ts';
import {
  AttributeProto_AttributeType as AttributeType,
  ModelProtoSchema,
  TensorProto_DataLocation as DataLocation,
} from '../../src/onnx/onnx_pb.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

function addOneGraph(): GraphBuilder {
  const graph = new GraphBuilder('add-one');
  const x = graph.input('x', 'float', ['n', 2]);
  const one = graph.initializer('one', 'float', [2], Float32Array.of(1, 10));
  graph.node('sum', 'Add', [x, one], { outputs: ['y'] });
  graph.output('y', 'float', ['n', 2]);
  return graph;
}

test('a graph with inline initializers runs from its bytes', async () => {
  const session = await InferenceSession.create(addOneGraph().toBytes());
  const { y } = await session.run({
    x: new Tensor('float32', Float32Array.of(1, 2, 3, 4), [2, 2]),
  });
  expect(y?.data).toEqual(Float32Array.of(2, 12, 4, 14));
});

/** A matrix [64, 64] of some whole numbers, scaled. */
function weight(scale: number): Float32Array {
  return Float32Array.from({ length: 64 * 64 }, (_, i) => scale * (i % 7));
}

function multiply(vector: Float32Array, matrix: Float32Array): Float32Array {
  return Float32Array.from({ length: 64 }, (_, column) =>
    vector.reduce((sum, value, row) => sum + value * (matrix[row * 64 + column] ?? 0), 0),
  );
}

test('initializers are written before the memory that they are made in is used again', async () => {
  const memory = new Float32Array(64 * 64);
  const graph = new GraphBuilder('shared memory');
  const sizes = { small: 8, big: 64 * 64, other: 64 } as const;
  for (const [index, [name, size]] of Object.entries(sizes).entries()) {
    const load = async () => memory.fill(index + 1).subarray(0, size);
    graph.initializer(name, 'float', [size], load, () => memory.fill(NaN));
  }
  graph.output('small', 'float', [8]);
  const again = new GraphBuilder('the same');
  again.initializer('small', 'float', [8], async () => memory.subarray(0, 8));
  const folder = await temporaryDirectory();
  const data = await graph.write(join(folder, 'first.onnx'));
  await again.writeSharing(data, join(folder, 'second.onnx'));
  for (const [name, values] of [
    ['first.onnx', [1, 3]],
    ['second.onnx', [1]],
  ] as const) {
    const { graph: read } = fromBinary(ModelProtoSchema, await readFile(join(folder, name)));
    const inside = (read?.initializer ?? []).filter(({ rawData }) => rawData.length > 0);
    expect(inside.map(({ rawData }) => Buffer.from(rawData).readFloatLE(0))).toEqual(values);
  }
  const big = await readFile(join(folder, 'first.onnx.data'));
  expect(new Set(new Float32Array(big.buffer, big.byteOffset, 64 * 64))).toEqual(new Set([2]));
});

test('a written graph keeps small initializers inside and big ones in an aligned data file', async () => {
  const graph = new GraphBuilder('products');
  const x = graph.input('x', 'float', [1, 64]);
  const progress: unknown[] = [];
  graph.initializer('first', 'float', [64, 64], weight(1));
  graph.initializer('second', 'float', [64, 64], async () => weight(0.5));
  graph.initializer('bias', 'float', [64], async () => new Float32Array(64).fill(3));
  const hidden = graph.node('h', 'MatMul', [x, 'first']);
  const product = graph.node('p', 'MatMul', [hidden, 'second']);
  graph.node('y', 'Add', [product, 'bias']);
  graph.output('y', 'float', [1, 64]);

  const path = join(await temporaryDirectory(), 'products.onnx');
  await graph.write(path, (...args) => progress.push(args));

  const bytes = 64 * 64 * 4;
  expect(progress).toEqual([
    [bytes, 2 * bytes, 'first'],
    [2 * bytes, 2 * bytes, 'second'],
  ]);
  const { graph: written } = fromBinary(ModelProtoSchema, await readFile(path));
  const places = written?.initializer.map(({ name, dataLocation, externalData }) => ({
    name,
    dataLocation,
    entries: Object.fromEntries(externalData.map(({ key, value }) => [key, value])),
  }));
  expect(places).toEqual([
    {
      name: 'first',
      dataLocation: DataLocation.EXTERNAL,
      entries: { location: 'products.onnx.data', offset: '0', length: `${bytes}` },
    },
    {
      name: 'second',
      dataLocation: DataLocation.EXTERNAL,
      entries: { location: 'products.onnx.data', offset: '65536', length: `${bytes}` },
    },
    { name: 'bias', dataLocation: DataLocation.DEFAULT, entries: {} },
  ]);

  const session = await InferenceSession.create(path);
  const input = Float32Array.from({ length: 64 }, (_, i) => i / 64);
  const { y } = await session.run({ x: new Tensor('float32', input, [1, 64]) });
  const expected = multiply(multiply(input, weight(1)), weight(0.5)).map((value) => value + 3);
  const ratios = Array.from(expected, (value, i) => Number(y?.data[i]) / value);
  expect(ratios).toHaveLength(64);
  ratios.forEach((ratio) => expect(ratio).toBeCloseTo(1, 5));
});

test('attributes keep their ONNX types', () => {
  const graph = new GraphBuilder('attributes');
  graph.input('x', 'float', [1]);
  graph.node('y', 'Anything', ['x'], {
    domain: MICROSOFT_DOMAIN,
    attributes: { float: 0, int: 0n, text: 'é', floats: [1, 2.5], ints: [1n], texts: ['a', 'b'] },
  });
  graph.output('y', 'float', [1]);
  const node = fromBinary(ModelProtoSchema, graph.toBytes()).graph?.node[0];
  const attributes = Object.fromEntries(node?.attribute.map((item) => [item.name, item]) ?? []);
  expect(node?.domain).toBe('com.microsoft');
  expect(attributes['float']).toMatchObject({ type: AttributeType.FLOAT, f: 0 });
  expect(attributes['int']).toMatchObject({ type: AttributeType.INT, i: 0n });
  expect(attributes['text']).toMatchObject({ type: AttributeType.STRING, s: utf8('é') });
  expect(attributes['floats']).toMatchObject({ type: AttributeType.FLOATS, floats: [1, 2.5] });
  expect(attributes['ints']).toMatchObject({ type: AttributeType.INTS, ints: [1n] });
  expect(attributes['texts']).toMatchObject({
    type: AttributeType.STRINGS,
    strings: [utf8('a'), utf8('b')],
  });
});

test('fields that the schema leaves out survive reading and writing', () => {
  // Field 25 of a model (functions), holding a message with the string field 1 "f".
  const functions = Uint8Array.of(0xca, 0x01, 3, 0x0a, 1, 0x66);
  const bytes = Buffer.concat([addOneGraph().toBytes(), functions]);
  const rewritten = Buffer.from(toBinary(ModelProtoSchema, fromBinary(ModelProtoSchema, bytes)));
  expect(rewritten.includes(Buffer.from(functions))).toBe(true);
});

test('mistakes in a graph are found while it is built', () => {
  const graph = addOneGraph();
  expect(() => graph.node('z', 'Add', ['y', 'nowhere'])).toThrow(
    'node "z" uses "nowhere" before it is defined',
  );
  expect(() => graph.node('again', 'Neg', ['x'], { outputs: ['y'] })).toThrow(
    '"y" is defined twice in graph "add-one"',
  );
  expect(() => graph.initializer('w', 'int64', [2, 3], new Float32Array(6))).toThrow(
    'initializer "w" (int64 [2, 3]) takes 48 bytes, but was given 24',
  );
  graph.output('lost', 'float', []);
  expect(() => graph.toBytes()).toThrow('graph output "lost" is made by no node');
});

test('deferred data must fill its shape, and cannot be had in one piece', async () => {
  const graph = new GraphBuilder('deferred');
  graph.initializer('w', 'float', [3], async () => new Float32Array(2));
  expect(() => graph.toBytes()).toThrow('"w" is deferred: use write()');
  const path = join(await temporaryDirectory(), 'g.onnx');
  await expect(graph.write(path)).rejects.toThrow('takes 12 bytes, but was given 8');
});
