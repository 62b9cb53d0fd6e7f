/** Matrices that scripts/references/quantized.py wrote, and what the libraries there make of them. */
import { readFileSync } from 'node:fs';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { SafetensorsWeights } from '../../../src/model/huggingface/safetensors.ts';
import type { StoredLayout } from '../../../src/model/huggingface/weights.ts';
import { parseQuantization } from '../../../src/model/huggingface/quantization.ts';
import { QuantizedWeights } from '../../../src/model/quantized/quantized-weights.ts';
import { BlockMatrix } from '../../../src/model/quantize/block-matrix.ts';
import { packIntegers, zeroPointBytes } from '../../../src/model/quantize/pack-integers.ts';
import { productBlockSize } from '../../../src/model/quantize/stored-blocks.ts';
import { isInRows, keptFormat } from '../../../src/model/quantize/kept-format.ts';
import { GraphBuilder } from '../../../src/onnx/graph-builder.ts';
import { NOT_FINITE, patchTensor } from '../../support/patch-tensor.ts';
import { runGraph } from '../../support/run-graph.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FIXTURES = 'test/fixtures/quantized';
const SHAPE = [48, 256] as const;
const [ROWS, COLUMNS] = SHAPE;
const NAME = 'layer.weight';

/** By fixture, what of the layout matters; null for values that are no such integers. */
const LAYOUTS: Readonly<
  Record<string, (Omit<StoredLayout, 'order'> & { isOrdered: boolean }) | null>
> = {
  'gptq-4': { bits: 4, blockSize: 32, hasZeroPoints: false, isOrdered: false },
  'gptq-4-ordered': { bits: 4, blockSize: 32, hasZeroPoints: false, isOrdered: true },
  'gptq-4-zeros': { bits: 4, blockSize: 32, hasZeroPoints: true, isOrdered: false },
  'gptq-8': { bits: 8, blockSize: 32, hasZeroPoints: false, isOrdered: false },
  'gptq-v2': { bits: 4, blockSize: 32, hasZeroPoints: true, isOrdered: true },
  awq: { bits: 4, blockSize: 32, hasZeroPoints: true, isOrdered: false },
  'pack-quantized': { bits: 4, blockSize: 32, hasZeroPoints: false, isOrdered: false },
  'pack-quantized-zeros': { bits: 4, blockSize: 32, hasZeroPoints: true, isOrdered: false },
  'pack-quantized-ordered': { bits: 4, blockSize: 32, hasZeroPoints: false, isOrdered: true },
  'int-quantized': { bits: 8, blockSize: 256, hasZeroPoints: false, isOrdered: false },
  int8: { bits: 8, blockSize: 256, hasZeroPoints: false, isOrdered: false },
  'float-quantized': null,
  'float-quantized-tensor': null,
  'fp8-blocks': null,
  nf4: null,
  'nf4-nested': null,
  fp4: null,
};

/** NaN by type. */
const BYTES = {
  F32: NOT_FINITE.F32.NaN,
  F16: NOT_FINITE.F16.NaN,
  BF16: NOT_FINITE.BF16.NaN,
  F8_E4M3: [0x7f],
};

async function open(name: string) {
  const weights = await openFile(join(FIXTURES, `${name}.safetensors`));
  return { weights, expected: await weights.get('expected', SHAPE) };
}

async function openFile(path: string): Promise<QuantizedWeights> {
  const plain = await SafetensorsWeights.open([path]);
  const quantization = parseQuantization(configOf(path), path);
  if (quantization === null) throw new Error(`${path} is not quantized`);
  const weights = await QuantizedWeights.open(plain, quantization);
  onTestFinished(() => weights.close());
  return weights;
}

function configOf(path: string): unknown {
  const bytes = readFileSync(path);
  const header: unknown = JSON.parse(
    bytes.subarray(8, 8 + Number(bytes.readBigUInt64LE())).toString(),
  );
  const schema = z.object({ __metadata__: z.object({ config: z.string() }) });
  return JSON.parse(schema.parse(header).__metadata__.config);
}

/** Largest difference, against the largest expected value. */
function deviation(actual: ArrayLike<number>, expected: Float32Array): number {
  expect(actual).toHaveLength(expected.length);
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const furthest = expected.reduce(
    (most, value, i) => Math.max(most, Math.abs(value - (actual[i] ?? NaN))),
    0,
  );
  return furthest / largest;
}

it('knows every fixture', async () => {
  const names = (await readdir(FIXTURES)).map((file) => file.replace('.safetensors', ''));
  expect(names.sort()).toEqual(Object.keys(LAYOUTS).sort());
});

describe.each(Object.entries(LAYOUTS))('%s', (name, expectedLayout) => {
  it('has the values of the library that made it', async () => {
    const { weights, expected } = await open(name);
    expect(deviation(await weights.get(NAME, SHAPE), expected)).toBeLessThan(1e-6);
  });

  it('says how it is stored', async () => {
    const { weights } = await open(name);
    const layout = weights.layout(NAME, SHAPE);
    const { order = null, ...rest } = layout ?? {};
    expect(layout && { ...rest, isOrdered: order !== null }).toEqual(expectedLayout);
  });
});

describe.each(Object.keys(LAYOUTS))('%s', (name) => {
  it('with a number that is not finite is refused by its tensor', async () => {
    const original = join(FIXTURES, `${name}.safetensors`);
    const plain = await SafetensorsWeights.open([original]);
    const stored = [...plain.names()].flatMap((tensor) => {
      const dtype = plain.typeOf(tensor) ?? '';
      const special = (BYTES as Record<string, readonly number[]>)[dtype];
      return special && tensor !== 'expected' ? [[tensor, special] as const] : [];
    });
    await plain.close();
    expect(stored.length).toBeGreaterThan(0);
    const folder = await temporaryDirectory();
    for (const [index, [tensor, special]] of stored.entries()) {
      const path = join(folder, `${index}.safetensors`);
      await cp(original, path);
      await patchTensor(path, tensor, 0, Uint8Array.from(special));
      const weights = await openFile(path);
      const read = weights.layout(NAME, SHAPE)
        ? weights.integers(NAME, SHAPE)
        : weights.get(NAME, SHAPE);
      await expect(read).rejects.toThrow(`${path}: tensor "${tensor}" has a value of NaN at [0`);
    }
  });
});

const INTEGERS = Object.entries(LAYOUTS).flatMap(([name, layout]) =>
  layout === null ? [] : [[name, layout] as const],
);

describe.each(INTEGERS)('%s', (name, expectedLayout) => {
  it('gives products its own integers, scales and zero points', async () => {
    const { weights } = await open(name);
    const layout = weights.layout(NAME, SHAPE);
    if (layout === null) throw new Error('no layout');
    const { bits, order } = layout;
    const size = productBlockSize(layout) ?? 0;
    const source = { name, tensors: [{ name: NAME, rows: ROWS }], columns: COLUMNS };
    const packed = await packIntegers(weights, source, ROWS, layout, size);
    const blocks = COLUMNS / size;
    const zeroBytes = zeroPointBytes(blocks, bits);
    // As the operator's definition reads them.
    const at = (bytes: Uint8Array, row: number, width: number, index: number) => {
      if (bits === 8) return bytes[row * width + index] ?? 0;
      const byte = bytes[row * width + (index >> 1)] ?? 0;
      return index % 2 === 0 ? byte & 15 : byte >> 4;
    };
    const values = new Float32Array(ROWS * COLUMNS);
    for (let row = 0; row < ROWS; row++) {
      for (let place = 0; place < COLUMNS; place++) {
        const block = Math.floor(place / size);
        const zero = at(packed.zeroPoints, row, zeroBytes, block);
        const value = at(packed.packed, row, (COLUMNS * bits) / 8, place);
        const column = order?.[place] ?? place;
        values[row * COLUMNS + column] =
          (value - zero) * (packed.scales[row * blocks + block] ?? 0);
      }
    }
    expect(values).toEqual(await weights.get(NAME, SHAPE));
  });

  it('multiplies in blocks as its values do', async () => {
    const { weights, expected } = await open(name);
    const source = { name: 'matrix', tensors: [{ name: NAME, rows: ROWS }], columns: COLUMNS };
    const { bits } = expectedLayout;
    const wanted = { kind: 'blocks', bits, activations: 'float' } as const;
    const format = keptFormat(weights, source, wanted);
    if (format.kind !== 'blocks') throw new Error('no blocks');
    expect(format.stored).toMatchObject({ bits });
    const graph = new GraphBuilder('matrix');
    graph.input('x', 'float', ['rows', COLUMNS]);
    const matrix = new BlockMatrix(graph, weights, source, format);
    graph.output(matrix.multiply('product', 'x'), 'float', ['rows', ROWS]);
    const input = Float32Array.from({ length: 2 * COLUMNS }, (_, i) => Math.sin(i * 1.7));
    const product = await runGraph(graph, { x: [[2, COLUMNS], input] }, 'product', [2, ROWS]);
    const exact = Float32Array.from({ length: 2 * ROWS }, (_, index) => {
      const [row, output] = [Math.floor(index / ROWS), index % ROWS];
      let sum = 0;
      for (let i = 0; i < COLUMNS; i++) {
        sum += (input[row * COLUMNS + i] ?? 0) * (expected[output * COLUMNS + i] ?? 0);
      }
      return sum;
    });
    // The rest is the rounding of activations to 8 bits.
    expect(deviation(product, exact)).toBeLessThan(0.01);
  });
});

it.each(INTEGERS.filter(([, { blockSize }]) => blockSize === COLUMNS))(
  '%s is kept by rows as it is',
  async (name) => {
    const { weights } = await open(name);
    const source = { name: 'matrix', tensors: [{ name: NAME, rows: ROWS }], columns: COLUMNS };
    const layout = weights.layout(NAME, SHAPE);
    expect(layout && isInRows(layout, COLUMNS)).toBe(true);
    expect(keptFormat(weights, source, { kind: 'rows', activations: 'float' }).kind).toBe('rows');
  },
);

describe('a configuration', () => {
  it.each([
    [{ quant_method: 'hqq' }, /quant_method "hqq".*supported: gptq, awq/],
    [{ quant_method: 'gptq', bits: 3 }, /GPTQ with bits "3".*supported: 4, 8/],
    [{ quant_method: 'gptq', checkpoint_format: 'marlin' }, /checkpoint_format "marlin"/],
    [{ quant_method: 'awq', version: 'gemv' }, /AWQ version "gemv"/],
    [{ quant_method: 'compressed-tensors', format: 'marlin-24' }, /format "marlin-24"/],
    [{ quant_method: 'fp8', weight_block_size: [0, 128] }, /not valid/],
    [[], /not valid/],
  ])('%j is refused, naming what it has', (config, message) => {
    expect(() => parseQuantization(config, 'config.json')).toThrow(message);
  });
});
