import { describe, expect, test } from 'vitest';
import { float32ToFloat16 } from '../../src/model/huggingface/float-conversion.ts';
import { keptIn, nativeFormat } from '../../src/model/native/native-format.ts';
import { makePacked, PackedLayout } from '../../src/model/native/packed-matrix.ts';
import { BLOCK_SIZE, emptyBlocks, quantizeRows } from '../../src/model/quantize/quantize-blocks.ts';
import { argmax } from '../../src/engine/sampling/sampler.ts';
import { dequantize } from '../../src/model/quantize/stored-blocks.ts';
import { quantizeRow } from '../../src/model/quantize/make-rows.ts';
import type {
  StoredIntegers,
  StoredLayout,
  WeightSource,
} from '../../src/model/huggingface/weights.ts';
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
  /** Of the output. */
  readonly outFeatures: number;
  readonly bits: 4 | 8;
  /** Weights that share a scale in the checkpoint, which the product keeps; else they are floats there. */
  readonly storedBlock?: number;
  readonly norm?: boolean;
  readonly bias?: boolean;
  readonly activation?: 0 | 1 | 2;
  readonly residual?: boolean;
  /** Of all activations; each block of a row has its own if left out. */
  readonly step?: number;
}

const EPSILON = 1e-5;

interface Matrix {
  /** By row. */
  readonly values: Float32Array;
  readonly stored: { readonly layout: StoredLayout; readonly integers: StoredIntegers } | null;
}

function weightSource({ values, stored }: Matrix): WeightSource {
  const source = { get: async () => values, close: async () => {} };
  if (stored === null) return source;
  return { ...source, layout: () => stored.layout, integers: async () => stored.integers };
}

/** Integers of the whole range, and scales that float16 has. */
function storedMatrix(rows: number, columns: number, bits: 4 | 8, blockSize: number): Matrix {
  const layout = { bits, blockSize, hasZeroPoints: false, order: null };
  const blocks = rows * Math.ceil(columns / blockSize);
  const random = randomNumbers(2, rows * columns, 2 ** (bits - 1));
  const integers = {
    values: Uint8Array.from(random, (x) => Math.floor(x) & (2 ** bits - 1)),
    scales: Float32Array.from(randomNumbers(6, blocks), (x) => Math.round(x * 64) / 1024),
    zeroPoints: null,
  };
  return { values: dequantize(integers, layout, columns), stored: { layout, integers } };
}

const floatMatrix = (values: Float32Array): Matrix => ({ values, stored: null });

/** All that a node reads, and what it must give. */
async function prepare(c: Case, x: Float32Array, matrix: Matrix) {
  const { inFeatures, outFeatures, bits, activation = 0 } = c;
  const matrixRows = activation === 0 ? outFeatures : 2 * outFeatures;
  const layout = new PackedLayout(matrixRows, inFeatures, activation !== 0);
  const source = { name: 'm', tensors: [{ name: 'm', rows: matrixRows }], columns: inFeatures };
  const weights = weightSource(matrix);
  const format = nativeFormat(weights, source, bits);
  const { blockSize } = format;
  const isGated = activation !== 0;
  const packed = await makePacked(weights, { kind: 'native', source, ...format, isGated });
  const norm = c.norm ? randomNumbers(3, inFeatures) : null;
  const bias = c.bias ? randomNumbers(4, matrixRows, 0.1) : null;
  const residual = c.residual ? randomNumbers(5, c.rows * outFeatures) : null;
  const { numPlaces, padded } = layout;
  const scales: NodeValue =
    blockSize === null
      ? floats([numPlaces], packed.scales)
      : {
          type: 'float16',
          shape: [numPlaces, padded / blockSize],
          data: float32ToFloat16(packed.scales),
        };
  return {
    norm,
    bias,
    residual,
    call: (output: Float32Array, input = x, rows = c.rows): NodeCall => ({
      opType: bits === 4 ? 'Linear4' : blockSize === null ? 'Linear8' : 'LinearBlocks8',
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
        {
          type: 'uint8',
          shape: [numPlaces, (padded * bits) / 8],
          data: packed.values as Uint8Array,
        },
        scales,
        norm ? floats([inFeatures], norm) : undefined,
        bias ? floats([numPlaces], layout.place(bias)) : undefined,
        residual ? floats([rows, outFeatures], residual) : undefined,
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
    const { values, scales } = stored.integers;
    const block = stored.layout.blockSize;
    const blocks = Math.ceil(columns / block);
    const zero = 2 ** (bits - 1);
    return {
      integers: indexes.map((row) =>
        Int32Array.from(values.subarray(row * columns, (row + 1) * columns), (x) => x - zero),
      ),
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
    // Activations have the blocks that weights have in the product.
    const block =
      c.storedBlock !== undefined && (c.bits === 8 || c.storedBlock % 64 !== 0) ? 32 : 64;
    const y = product(quantizeActivations(of, norm, EPSILON, block, c.step), weights);
    const sum = Array.from(y, (value, i) => value + (bias?.[i] ?? 0));
    const columns = c.activation
      ? sum.slice(0, c.outFeatures).map((gate, i) => activate(gate) * (sum[c.outFeatures + i] ?? 0))
      : sum;
    return columns.map((value, i) => value + (residual?.[row * c.outFeatures + i] ?? 0));
  }).flat();
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

/** Blocks that are kept; of 8 bits several of 32 have the scale of a larger one. */
const STORED: Case[] = SHAPES.flatMap(([rows, inFeatures, outFeatures], at) =>
  (
    [
      [4, 32],
      [4, 96],
      [8, 32],
      [8, 128],
    ] as const
  ).map(([bits, storedBlock], which) => {
    const fusion = FUSIONS[(at + which) % FUSIONS.length];
    return { rows, inFeatures: inFeatures + 128, outFeatures, bits, storedBlock, ...fusion };
  }),
);

/** What a product with `finds_best` gives; logits only if they are wanted. */
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
    inputs: [...inputs, wanted],
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
      : storedMatrix(matrixRows, c.inFeatures, c.bits, c.storedBlock);

  test('is what plain loops compute, the same bits on every instruction set', async () => {
    const node = await prepare(c, x, matrix);
    const wanted = expected(c, x, matrix, node);
    const largest = wanted.reduce((max, value) => Math.max(max, Math.abs(value)), 1e-6);
    // Scales of 4-bit weights are float16 in the operator.
    const tolerance = (c.bits === 4 ? 1e-3 : 1e-5) * largest;
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
      : [storedMatrix(c.outFeatures, c.inFeatures, c.bits, c.storedBlock)];

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

test.each([
  [
    { bits: 4, blockSize: 32 },
    { bits: 4, blockSize: 32 },
  ],
  [
    { bits: 4, blockSize: 128 },
    { bits: 4, blockSize: 64 },
  ],
  [
    { bits: 8, blockSize: 32 },
    { bits: 8, blockSize: 32 },
  ],
  [
    { bits: 8, blockSize: 128 },
    { bits: 8, blockSize: 32 },
  ],
  [
    { bits: 8, blockSize: 512 },
    { bits: 8, blockSize: null },
  ],
  [{ bits: 4, blockSize: 16 }, null],
  [{ bits: 4, blockSize: 32, hasZeroPoints: true }, null],
  [{ bits: 8, blockSize: 32, order: new Int32Array(512) }, null],
] as const)('%j of 512 columns is kept as %j', (layout, format) => {
  expect(keptIn({ hasZeroPoints: false, order: null, ...layout }, 512)).toEqual(format);
});
