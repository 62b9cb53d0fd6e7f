import { describe, expect, test } from 'vitest';
import { keptIn, nativeFormat } from '../../src/model/native/native-format.ts';
import { PackedLayout } from '../../src/model/quantize/packed-layout.ts';
import { makePacked } from '../../src/model/quantize/packed-matrix.ts';
import { BLOCK_SIZE, emptyBlocks, quantizeRows } from '../../src/model/quantize/quantize-blocks.ts';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import { quantizeRow } from '../../src/model/quantize/make-rows.ts';
import type { WeightSource } from '../../src/model/huggingface/weights.ts';
import {
  floatMatrix,
  type Matrix,
  packedValues,
  storedMatrix,
  weightSource,
} from '../support/native-matrices.ts';
import {
  floats,
  type NodeCall,
  type NodeValue,
  presentInstructions,
  randomNumbers,
  runNode,
} from '../support/native-node.ts';
import {
  geluTanh,
  product,
  quantizeActivations,
  type ReferenceWeights,
  silu,
} from '../support/native-reference.ts';

interface Case {
  readonly rows: number;
  readonly inFeatures: number;
  /** Length of the output. */
  readonly outFeatures: number;
  readonly bits: 4 | 8;
  /** Weights that share a scale in the checkpoint, which the product keeps; else they are floats there. */
  readonly storedBlock?: number;
  /** Beside the scales; the zero points or the offsets of the checkpoint. */
  readonly stores?: 'zero points' | 'offsets';
  readonly norm?: boolean;
  readonly bias?: boolean;
  readonly activation?: 0 | 1 | 2;
  readonly residual?: boolean;
  /** Step of all activations; each block of a row has its own if left out. */
  readonly step?: number;
}

const EPSILON = 1e-5;

/** All that a node reads, and what it must give. */
async function prepare(c: Case, x: Float32Array, matrix: Matrix) {
  const { inFeatures, outFeatures, bits, activation = 0 } = c;
  const matrixRows = activation === 0 ? outFeatures : 2 * outFeatures;
  const source = { name: 'm', tensors: [{ name: 'm', rows: matrixRows }], columns: inFeatures };
  const format = nativeFormat(weightSource(matrix), source, bits === 4 ? 'int4' : 'int8', 1);
  const { blockSize, bits: packedBits } = format;
  const isGated = activation !== 0;
  const packed = await packedValues(matrix, inFeatures, format, isGated);
  const { layout, values, scales, offsets } = packed;
  const norm = c.norm ? randomNumbers(3, inFeatures) : null;
  const bias = c.bias ? randomNumbers(4, matrixRows, 0.1) : null;
  const residual = c.residual ? randomNumbers(5, c.rows * outFeatures) : null;
  return {
    norm,
    bias,
    residual,
    call: (output: Float32Array, input = x, rows = c.rows): NodeCall => ({
      opType: packedBits === 4 ? 'Linear4' : blockSize === null ? 'Linear8' : 'LinearBlocks8',
      attributes: {
        ...(blockSize !== null && { block_size: BigInt(blockSize) }),
        in_features: BigInt(inFeatures),
        out_features: BigInt(outFeatures),
        activation: BigInt(activation),
        epsilon: EPSILON,
        ...(c.step !== undefined && { step: c.step }),
      },
      inputs: [
        floats([rows, inFeatures], input),
        values,
        scales,
        norm ? floats([inFeatures], norm) : undefined,
        bias ? floats([layout.numPlaces], layout.place(bias)) : undefined,
        residual ? floats([rows, outFeatures], residual) : undefined,
        undefined,
        offsets,
      ],
      outputs: [floats([rows, outFeatures], output)],
    }),
  };
}

function referenceWeights(
  { values: matrix, stored }: Matrix,
  columns: number,
  bits: 4 | 8,
): ReferenceWeights {
  const rows = matrix.length / columns;
  const indexes = Array.from({ length: rows }, (_, row) => row);
  if (stored !== null) {
    const { values, scales, zeroPoints, offsets } = stored.integers;
    const block = stored.layout.blockSize;
    const blocks = Math.ceil(columns / block);
    const zeroOf = (at: number) => zeroPoints?.[at] ?? 2 ** (bits - 1);
    return {
      integers: indexes.map((row) =>
        Int32Array.from(
          values.subarray(row * columns, (row + 1) * columns),
          (x, column) => x - zeroOf(row * blocks + Math.floor(column / block)),
        ),
      ),
      offsets: offsets
        ? indexes.map((row) =>
            Float64Array.from(offsets.subarray(row * blocks, (row + 1) * blocks)),
          )
        : undefined,
      scales: indexes.map((row) =>
        Float64Array.from(scales.subarray(row * blocks, (row + 1) * blocks)),
      ),
      block,
    };
  }
  if (bits === 8) {
    const quantized = indexes.map((row) => {
      const integers = new Int8Array(columns);
      const scale = quantizeRow(matrix.subarray(row * columns, (row + 1) * columns), integers);
      return { integers: Int32Array.from(integers), scales: Float64Array.of(Math.fround(scale)) };
    });
    return {
      integers: quantized.map(({ integers }) => integers),
      scales: quantized.map(({ scales }) => scales),
      block: columns,
    };
  }
  const blocks = Math.ceil(columns / BLOCK_SIZE);
  const quantized = emptyBlocks(rows, columns, 4);
  quantizeRows(matrix, columns, 4, quantized, 0);
  const nibble = (row: number, k: number) => {
    const byte = quantized.packed[row * blocks * 32 + (k >> 1)] ?? 0;
    return (k & 1 ? byte >> 4 : byte & 15) - 8;
  };
  return {
    integers: indexes.map((row) => Int32Array.from({ length: columns }, (_, k) => nibble(row, k))),
    scales: indexes.map((row) =>
      Float64Array.from(quantized.scales.subarray(row * blocks, (row + 1) * blocks)),
    ),
    block: BLOCK_SIZE,
  };
}

function expected(
  c: Case,
  x: Float32Array,
  matrix: Matrix,
  { norm, bias, residual }: Awaited<ReturnType<typeof prepare>>,
): number[] {
  const weights = referenceWeights(matrix, c.inFeatures, c.bits);
  const activate = c.activation === 1 ? silu : geluTanh;
  return Array.from({ length: c.rows }, (_, row) => {
    const of = x.subarray(row * c.inFeatures, (row + 1) * c.inFeatures);
    const block = blockOfActivations(c);
    const y = product(quantizeActivations(of, norm, EPSILON, block, c.step), weights);
    const sum = Array.from(y, (value, i) => value + (bias?.[i] ?? 0));
    const columns = c.activation
      ? sum.slice(0, c.outFeatures).map((gate, i) => activate(gate) * (sum[c.outFeatures + i] ?? 0))
      : sum;
    return columns.map((value, i) => value + (residual?.[row * c.outFeatures + i] ?? 0));
  }).flat();
}

/** Activations have the blocks that weights have in the product. */
function blockOfActivations({ bits, storedBlock }: Case): number {
  if (storedBlock === undefined || (bits === 4 && storedBlock % 64 === 0)) return 64;
  return storedBlock % 32 === 0 ? 32 : 16;
}

const FUSIONS: readonly Partial<Case>[] = [
  {},
  { norm: true, bias: true },
  { activation: 1, norm: true },
  { activation: 2, bias: true },
  { residual: true },
  { norm: true, bias: true, residual: true },
];

const SHAPES = [
  [1, 1, 1],
  [1, 64, 32],
  [2, 3, 5],
  [3, 65, 33],
  [7, 100, 31],
  [9, 128, 48],
  [17, 200, 17],
  [33, 64, 100],
  [130, 72, 40],
  [5, 1030, 70],
] as const;

const CASES: Case[] = SHAPES.flatMap(([rows, inFeatures, outFeatures], at) =>
  ([4, 8] as const).flatMap((bits) => [
    { rows, inFeatures, outFeatures, bits, ...FUSIONS[at % FUSIONS.length] },
    { rows, inFeatures, outFeatures, bits, ...FUSIONS[(at + 3) % FUSIONS.length] },
    // Some values are larger than 127 steps.
    ...(bits === 8
      ? [{ rows, inFeatures, outFeatures, bits, step: 0.02, ...FUSIONS[(at + 1) % FUSIONS.length] }]
      : []),
  ]),
);

/** Blocks that are kept; several of 32 or 16 have the scale of a larger one. */
const STORED: Case[] = SHAPES.flatMap(([rows, inFeatures, outFeatures], at) =>
  (
    [
      [4, 32],
      [4, 96],
      [8, 32],
      [8, 128],
      [4, 32, 'offsets'],
      [4, 64, 'zero points'],
      [4, 16, 'offsets'],
      [8, 16],
      [8, 32, 'offsets'],
      [8, 128, 'zero points'],
    ] as const
  ).map(([bits, storedBlock, stores], which) => {
    const fusion = FUSIONS[(at + which) % FUSIONS.length];
    const shape = { rows, inFeatures: inFeatures + 128, outFeatures };
    return { ...shape, bits, storedBlock, ...(stores && { stores }), ...fusion };
  }),
);

/** Outputs of a product with `finds_best`; logits only if they are wanted. */
async function findBest(
  c: Case,
  x: Float32Array,
  matrix: Matrix,
  wantsLogits: boolean,
  instructions: string | null,
  threads = 1,
): Promise<{ readonly logits: Float32Array; readonly best: number[] }> {
  const numLogits = wantsLogits ? c.rows : 0;
  const logits = new Float32Array(numLogits * c.outFeatures);
  const best = new Int32Array(c.rows).fill(-7);
  const { attributes, inputs, ...call } = (await prepare(c, x, matrix)).call(logits);
  const wanted: NodeValue = { type: 'int32', shape: [], data: Int32Array.of(Number(wantsLogits)) };
  const node: NodeCall = {
    ...call,
    attributes: { ...attributes, finds_best: 1n },
    inputs: inputs.toSpliced(6, 1, wanted),
    outputs: [
      floats([numLogits, c.outFeatures], logits),
      { type: 'int32', shape: [c.rows], data: best },
    ],
  };
  runNode(node, instructions, threads);
  return { logits, best: [...best] };
}

const bytesOf = (values: Float32Array) => Buffer.from(values.buffer);

describe.each([...CASES, ...STORED])('%j', (c) => {
  const matrixRows = (c.activation ? 2 : 1) * c.outFeatures;
  const x = randomNumbers(1, c.rows * c.inFeatures);
  const matrix =
    c.storedBlock === undefined
      ? floatMatrix(randomNumbers(2, matrixRows * c.inFeatures, 0.3))
      : storedMatrix(matrixRows, c.inFeatures, { ...c, blockSize: c.storedBlock });

  test('is what plain loops compute, the same bits on every instruction set', async () => {
    const node = await prepare(c, x, matrix);
    const wanted = expected(c, x, matrix, node);
    const largest = wanted.reduce((max, value) => Math.max(max, Math.abs(value)), 1e-6);
    // Scales of 4-bit weights are float16 in the operator, as are zero points times scales.
    const isHalf = c.bits === 4 || c.stores === 'zero points';
    const tolerance = (isHalf ? 1e-3 : 1e-5) * largest;
    const results = presentInstructions().map((instructions) => {
      const y = new Float32Array(wanted.length).fill(NaN);
      runNode(node.call(y), instructions);
      return y;
    });
    for (const y of results) {
      const worst = wanted.reduce(
        (max, value, i) => Math.max(max, Math.abs(value - (y[i] ?? NaN))),
        0,
      );
      expect(worst).toBeLessThan(tolerance);
      expect(bytesOf(y).equals(bytesOf(results[0] ?? y))).toBe(true);
    }
  });

  test('gives a row the same bits alone and with threads', async () => {
    const node = await prepare({ ...c, residual: false }, x, matrix);
    const together = new Float32Array(c.rows * c.outFeatures);
    runNode(node.call(together), null, 3);
    const row = c.rows - 1;
    const alone = new Float32Array(c.outFeatures);
    runNode(node.call(alone, x.slice(row * c.inFeatures), 1));
    expect(bytesOf(alone).equals(bytesOf(together.slice(row * c.outFeatures)))).toBe(true);
  });
});

describe.each([
  { rows: 1, inFeatures: 100, outFeatures: 70, bits: 8 },
  { rows: 9, inFeatures: 64, outFeatures: 333, bits: 8, norm: true },
  { rows: 130, inFeatures: 72, outFeatures: 1000, bits: 8, bias: true },
  { rows: 17, inFeatures: 200, outFeatures: 129, bits: 8, step: 0.02 },
  { rows: 11, inFeatures: 200, outFeatures: 500, bits: 4, bias: true },
  { rows: 5, inFeatures: 192, outFeatures: 65, bits: 4, storedBlock: 32 },
  { rows: 20, inFeatures: 192, outFeatures: 257, bits: 8, storedBlock: 32 },
  { rows: 6, inFeatures: 192, outFeatures: 257, bits: 4, storedBlock: 32, stores: 'offsets' },
  { rows: 6, inFeatures: 192, outFeatures: 257, bits: 8, storedBlock: 16, stores: 'offsets' },
] satisfies Case[])('the best of %j', (c: Case) => {
  const x = randomNumbers(1, c.rows * c.inFeatures);
  if (c.rows > 4) {
    x[c.inFeatures + 7] = NaN;
    x.fill(0, 2 * c.inFeatures, 3 * c.inFeatures);
    x[3 * c.inFeatures + 9] = Infinity;
  }
  const size = c.outFeatures * c.inFeatures;
  // Rows of seven kinds, so that each row of results has the largest one many times.
  const equals = randomNumbers(2, 7 * c.inFeatures, 0.3);
  const matrices =
    c.storedBlock === undefined
      ? [
          floatMatrix(randomNumbers(2, size, 0.3)),
          floatMatrix(
            Float32Array.from({ length: size }, (_, i) => equals[i % equals.length] ?? 0),
          ),
        ]
      : [storedMatrix(c.outFeatures, c.inFeatures, { ...c, blockSize: c.storedBlock })];

  test('is that of its results, whether these are wanted or not', async () => {
    for (const matrix of matrices) {
      for (const instructions of presentInstructions()) {
        const { logits, best } = await findBest(c, x, matrix, true, instructions);
        const wanted = Array.from({ length: c.rows }, (_, row) =>
          argmax(logits.subarray(row * c.outFeatures, (row + 1) * c.outFeatures)),
        );
        expect(best).toEqual(wanted);
        expect((await findBest(c, x, matrix, false, instructions)).best).toEqual(wanted);
        const withThreads = await findBest(c, x, matrix, false, instructions, 3);
        expect(withThreads.best).toEqual(wanted);
      }
    }
  });
});

describe.each([4, 8] as const)('extremes with %i bits', (bits) => {
  const c: Case = { rows: 4, inFeatures: 200, outFeatures: 40, bits };

  async function run(x: Float32Array, matrix: Float32Array): Promise<Float32Array[]> {
    const node = await prepare(c, x, floatMatrix(matrix));
    return presentInstructions().map((instructions) => {
      const y = new Float32Array(c.rows * c.outFeatures).fill(-1);
      runNode(node.call(y), instructions);
      return y;
    });
  }

  test('zeros and denormals give zeros', async () => {
    const x = new Float32Array(c.rows * c.inFeatures);
    x.fill(1e-40, c.inFeatures, 2 * c.inFeatures);
    for (const y of await run(x, randomNumbers(2, c.outFeatures * c.inFeatures))) {
      expect(y.every((value) => Object.is(value, 0))).toBe(true);
    }
  });

  test('the largest products do not overflow', async () => {
    const x = new Float32Array(c.rows * c.inFeatures).map((_, i) => (i % 3 === 0 ? -1e30 : 1e30));
    const matrix = new Float32Array(c.outFeatures * c.inFeatures).map((_, i) =>
      i % 2 === 0 ? -1e5 : 1e5,
    );
    const weights = referenceWeights(floatMatrix(matrix), c.inFeatures, bits);
    const of = quantizeActivations(x.subarray(0, c.inFeatures), null, EPSILON, BLOCK_SIZE);
    const wanted = product(of, weights);
    for (const y of await run(x, matrix)) {
      for (const [i, value] of wanted.entries()) {
        expect(Math.abs((y[i] ?? NaN) - value)).toBeLessThan(1e-3 * 1e37);
      }
    }
  });

  test('what is not a number stays in its row', async () => {
    const x = randomNumbers(1, c.rows * c.inFeatures);
    const matrix = randomNumbers(2, c.outFeatures * c.inFeatures);
    const [before] = await run(x, matrix);
    x[c.inFeatures + 7] = NaN;
    x[2 * c.inFeatures + 9] = Infinity;
    for (const y of await run(x, matrix)) {
      const rows = Array.from({ length: c.rows }, (_, row) =>
        y.slice(row * c.outFeatures, (row + 1) * c.outFeatures),
      );
      expect(rows[1]?.every(Number.isNaN)).toBe(true);
      expect(rows[2]?.some(Number.isFinite)).toBe(false);
      for (const row of [0, 3]) {
        expect(rows[row]).toEqual(before?.slice(row * c.outFeatures, (row + 1) * c.outFeatures));
      }
    }
  });
});

test('inputs that do not fit are refused', async () => {
  const c: Case = { rows: 2, inFeatures: 64, outFeatures: 32, bits: 8 };
  const x = randomNumbers(1, 128);
  const node = await prepare(c, x, floatMatrix(randomNumbers(2, 64 * 32)));
  const call = node.call(new Float32Array(64));
  const withInput = (index: number, shape: number[], size: number) => ({
    ...call,
    inputs: call.inputs.map((input, i) =>
      i === index ? floats(shape, new Float32Array(size)) : input,
    ),
  });
  expect(() => runNode(withInput(0, [2, 63], 126))).toThrow('x has no whole rows');
  expect(() => runNode(withInput(2, [31], 31))).toThrow('scales are of another size');
  expect(() => runNode(withInput(3, [63], 63))).toThrow('the norm is of another size');
  expect(() => runNode(withInput(4, [31], 31))).toThrow('the bias is of another size');
  expect(() => runNode(withInput(5, [1, 32], 32))).toThrow('the residual is of another size');
  const attributes = { ...call.attributes, in_features: 65_537n };
  expect(() => runNode({ ...call, attributes })).toThrow('in_features is not from 1 to 65536');
  for (const step of [-1, NaN, Infinity]) {
    const withStep = { ...call, attributes: { ...call.attributes, step } };
    expect(() => runNode(withStep)).toThrow('step is not from 0 to 1e30');
  }
});

const kept = (bits: 4 | 8, blockSize: 16 | 32 | 64, hasOffsets = false) => ({
  bits,
  blockSize,
  hasOffsets,
  isStored: true,
});

test.each([
  [{ bits: 4, blockSize: 32 }, kept(4, 32)],
  [{ bits: 4, blockSize: 128 }, kept(4, 64)],
  [{ bits: 4, blockSize: 16 }, kept(8, 16)],
  [{ bits: 8, blockSize: 32 }, kept(8, 32)],
  [{ bits: 8, blockSize: 128 }, kept(8, 32)],
  [{ bits: 8, blockSize: 48 }, kept(8, 16)],
  [{ bits: 4, blockSize: 32, hasZeroPoints: true }, kept(4, 32, true)],
  [{ bits: 8, blockSize: 16, hasOffsets: true }, kept(8, 16, true)],
  [
    { bits: 8, blockSize: 512 },
    { bits: 8, blockSize: null, hasOffsets: false, isStored: false },
  ],
  [{ bits: 4, blockSize: 8 }, null],
  [{ bits: 8, blockSize: 32, order: new Int32Array(512) }, null],
] as const)('%j of 512 columns is kept as %j', (layout, format) => {
  expect(keptIn({ hasZeroPoints: false, order: null, ...layout }, 512)).toEqual(format);
});

describe('a matrix of two tensors', () => {
  const columns = 160;
  const tensors = [
    { name: 'four', rows: 24 },
    { name: 'eight', rows: 16 },
  ];
  const source = { name: 'both', tensors, columns };
  const four = storedMatrix(24, columns, { bits: 4, blockSize: 32, stores: 'offsets' });
  const eight = storedMatrix(16, columns, { bits: 8, blockSize: 16 });
  const matrixOf = (name: string) => (name === 'four' ? four : eight);
  const weights = (keptAs: 4 | 8): WeightSource => ({
    get: async (name) => matrixOf(name).values,
    layout: (name) => {
      const layout = matrixOf(name).stored?.layout;
      return layout ? { ...layout, keptIn: keptAs } : null;
    },
    integers: async (name) => {
      const { stored } = matrixOf(name);
      if (stored === null) throw new Error(name);
      return stored.integers;
    },
    close: async () => {},
  });

  test('has the smallest blocks and the most bits of both, and weighs what they do', async () => {
    const format = nativeFormat(weights(4), source, 'int4', 1);
    expect(format).toEqual(kept(8, 16, true));
    const task = { kind: 'native', source, ...format, isGated: false } as const;
    const packed = await makePacked(weights(4), task);
    const { numPlaces, padded } = new PackedLayout(40, columns, false);
    const x = randomNumbers(1, columns);
    const y = new Float32Array(40);
    const half = (data: ArrayBufferView): NodeValue => ({
      type: 'float16',
      shape: [numPlaces, padded / 16],
      data: data as Uint16Array,
    });
    const values = packed.values as Uint8Array;
    runNode({
      opType: 'LinearBlocks8',
      attributes: { block_size: 16n, in_features: BigInt(columns), out_features: 40n },
      inputs: [
        floats([1, columns], x),
        { type: 'uint8', shape: [numPlaces, padded], data: values },
        half(packed.scales),
        undefined,
        undefined,
        undefined,
        undefined,
        half(packed.offsets ?? new Uint16Array()),
      ],
      outputs: [floats([1, 40], y)],
    });
    const { values: integers, scales } = quantizeActivations(x, null, EPSILON, 16);
    const rounded = Array.from(integers, (value, k) => value * (scales[k >> 4] ?? 0));
    const all = [...four.values, ...eight.values];
    for (const [row, value] of y.entries()) {
      const wanted = rounded.reduce((sum, a, k) => sum + a * (all[row * columns + k] ?? 0), 0);
      expect(value).toBeCloseTo(wanted, 3);
    }
  });

  test('is rounded anew by a build that keeps only one of them', () => {
    expect(nativeFormat(weights(8), source, 'int4', 1)).toMatchObject({ bits: 4, isStored: false });
  });
});
