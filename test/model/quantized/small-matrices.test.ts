/** Matrices that scripts/references/mlx_and_nvfp4.py wrote, and what the libraries there make of them. */
import { readFile, cp } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';

import { parseQuantization } from '../../../src/model/huggingface/quantization.ts';
import { SafetensorsWeights } from '../../../src/model/huggingface/safetensors.ts';
import type { StoredLayout } from '../../../src/model/huggingface/weights.ts';
import { QuantizedWeights } from '../../../src/model/quantized/quantized-weights.ts';
import { patchTensor } from '../../support/patch-tensor.ts';
import { type RawTensor, writeSafetensors } from '../../support/safetensors-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FIXTURES = 'test/fixtures/small-matrices';
const SHAPE = [8, 128] as const;
const NAME = 'layer.weight';

const affine = (bits: 4 | 8, blockSize: number, keptIn: 4 | 8): Partial<StoredLayout> => ({
  bits,
  blockSize,
  hasOffsets: true,
  keptIn,
});

/** By fixture, what of the layout matters (null for values that are no integers), and NaN by its tensors. */
const MATRICES: Readonly<Record<string, [Partial<StoredLayout> | null, Record<string, number[]>]>> =
  {
    'nvfp4-compressed': [{ bits: 8, blockSize: 16 }, { weight_scale: [0x7f] }],
    'nvfp4-modelopt': [{ bits: 8, blockSize: 16 }, { weight_scale: [0xff] }],
    'mlx-2-64': [affine(4, 64, 4), { scales: [0xc0, 0x7f], biases: [0xc0, 0x7f] }],
    'mlx-3-32': [affine(4, 32, 4), { scales: [0xc0, 0x7f] }],
    'mlx-4-64': [affine(4, 64, 4), { biases: [0xc0, 0x7f] }],
    'mlx-5-128': [affine(8, 128, 8), { scales: [0xc0, 0x7f] }],
    'mlx-6-64': [affine(8, 64, 8), { scales: [0xc0, 0x7f] }],
    'mlx-8-32': [affine(8, 32, 8), { scales: [0xc0, 0x7f] }],
    'mlx-mxfp4': [{ bits: 8, blockSize: 32, keptIn: 8 }, { scales: [0xff] }],
    'mlx-nvfp4': [{ bits: 8, blockSize: 16, keptIn: 8 }, { scales: [0x7f] }],
    'mlx-mxfp8': [null, { scales: [0xff] }],
  };

async function configOf(path: string): Promise<unknown> {
  const bytes = await readFile(path);
  const end = 8 + Number(bytes.readBigUInt64LE());
  const header: unknown = JSON.parse(bytes.subarray(8, end).toString());
  const schema = z.object({ __metadata__: z.object({ config: z.string() }) });
  return JSON.parse(schema.parse(header).__metadata__.config);
}

async function open(path: string, config: unknown): Promise<QuantizedWeights> {
  const quantization = parseQuantization(config, path);
  if (quantization === null) throw new Error(`${path} is not quantized`);
  const weights = await QuantizedWeights.open(await SafetensorsWeights.open([path]), quantization);
  onTestFinished(() => weights.close());
  return weights;
}

describe.each(Object.entries(MATRICES))('%s', (name, [layout, special]) => {
  const path = join(FIXTURES, `${name}.safetensors`);

  it('has the values of the library that made it', async () => {
    const weights = await open(path, await configOf(path));
    const expected = await weights.get('expected', SHAPE);
    const values = await weights.get(NAME, SHAPE);
    const largest = Math.max(...expected.map(Math.abs));
    const furthest = Math.max(...expected.map((each, at) => Math.abs(each - (values[at] ?? NaN))));
    expect(furthest / largest).toBeLessThan(1e-6);
  });

  it('says how it is stored', async () => {
    const weights = await open(path, await configOf(path));
    const found = weights.layout(NAME, SHAPE);
    expect(found).toEqual(layout && { hasZeroPoints: false, order: null, ...layout });
  });

  it.each(Object.entries(special))('with NaN in %s is refused by it', async (tensor, bytes) => {
    const copy = join(await temporaryDirectory(), 'model.safetensors');
    await cp(path, copy);
    await patchTensor(copy, `layer.${tensor}`, 0, Uint8Array.from(bytes));
    const weights = await open(copy, await configOf(path));
    const stated = `tensor "layer.${tensor}" has a value of NaN at [0`;
    await expect(weights.get(NAME, SHAPE)).rejects.toThrow(stated);
  });

  it.each([
    [4, 128],
    [8, 120],
    [8, 4096],
    [128, 8],
  ])('is no matrix [%i, %i]', async (rows, columns) => {
    const weights = await open(path, await configOf(path));
    expect(weights.layout(NAME, [rows, columns])).toBeNull();
    await expect(weights.get(NAME, [rows, columns])).rejects.toThrow(/not a quantized matrix/);
  });
});

describe('a damaged matrix', () => {
  const zeros = (dtype: string, shape: readonly number[], bytes: number): RawTensor => ({
    dtype,
    shape,
    bytes: new Uint8Array(shape.reduce((product, size) => product * size, bytes)),
  });
  const MLX = { group_size: 64, bits: 4 };
  const MODELOPT = { quant_method: 'modelopt', quant_algo: 'NVFP4' };

  it.each([
    [
      'without offsets',
      MLX,
      { weight: zeros('U32', [2, 16], 4), scales: zeros('F32', [2, 2], 4) },
      /tensor "layer.biases" is missing/,
    ],
    [
      'with fewer offsets',
      MLX,
      {
        weight: zeros('U32', [2, 16], 4),
        scales: zeros('F32', [2, 2], 4),
        biases: zeros('F32', [2, 1], 4),
      },
      /"layer.biases" has shape \[2, 1\], expected \[2, 2\]/,
    ],
    [
      'with blocks of 16',
      MLX,
      {
        weight: zeros('U32', [2, 16], 4),
        scales: zeros('F32', [2, 8], 4),
        biases: zeros('F32', [2, 8], 4),
      },
      /not a quantized matrix/,
    ],
    [
      'without a row of scales',
      MLX,
      { weight: zeros('U32', [2, 16], 4), scales: zeros('U8', [2, 0], 1) },
      /not a quantized matrix/,
    ],
    [
      'with two scales of its own',
      MODELOPT,
      {
        weight: zeros('U8', [2, 64], 1),
        weight_scale: zeros('F8_E4M3', [2, 8], 1),
        weight_scale_2: zeros('F32', [2], 4),
      },
      /"layer.weight_scale_2" has 2 scales, expected 1/,
    ],
    [
      'with scales in another form',
      MODELOPT,
      {
        weight: zeros('U8', [2, 64], 1),
        weight_scale: zeros('F8_E4M3', [16], 1),
        weight_scale_2: zeros('F32', [], 4),
      },
      /"layer.weight_scale" has shape \[16\], expected \[2, 8\]/,
    ],
    [
      'divided by 0',
      { quant_method: 'compressed-tensors', format: 'nvfp4-pack-quantized' },
      {
        weight_packed: zeros('U8', [2, 64], 1),
        weight_scale: { ...zeros('F8_E4M3', [2, 8], 1), bytes: new Uint8Array(16).fill(8) },
        weight_global_scale: zeros('F32', [1], 4),
      },
      /"layer.weight_global_scale" has a scale of Infinity/,
    ],
  ] as const)('%s is refused', async (_, config, tensors, message) => {
    const path = join(await temporaryDirectory(), 'model.safetensors');
    const named = Object.entries(tensors).map(([name, tensor]) => [`layer.${name}`, tensor]);
    await writeSafetensors(path, Object.fromEntries(named));
    const weights = await open(path, config);
    await expect(weights.get(NAME, [2, 128])).rejects.toThrow(message);
  });
});

describe('a configuration', () => {
  it.each([
    [{ group_size: 64, bits: 0 }, /MLX's quantization is not supported/],
    [{ group_size: 48, bits: 4 }, /MLX's quantization is not supported/],
    [{ group_size: 64, bits: 4, mode: 'hadamard' }, /MLX's quantization is not supported/],
    [
      { group_size: 64, bits: 4, 'model.layers.0.mlp.gate': { group_size: 64, bits: 7 } },
      /MLX's quantization of model.layers.0.mlp.gate is not supported/,
    ],
    [{ quant_method: 'modelopt', quant_algo: 'NVFP4_AWQ' }, /quant_algo "NVFP4_AWQ".*FP8, FP8_PER/],
    [{ quant_method: 'modelopt', quant_algo: null }, /quant_algo "none"/],
    [
      {
        quant_method: 'modelopt',
        quant_algo: 'MIXED_PRECISION',
        quantized_layers: { a: { quant_algo: 'FP8' }, b: { quant_algo: 'W4A8_AWQ' } },
      },
      /quant_algo "W4A8_AWQ"/,
    ],
  ])('%j is refused, naming what it has', (config, message) => {
    expect(() => parseQuantization(config, 'config.json')).toThrow(message);
  });

  it('of layers in several forms is read', () => {
    const layers = { a: { quant_algo: 'FP8' }, b: { quant_algo: 'NVFP4', group_size: 16 } };
    const config = { quant_method: 'modelopt', quant_algo: 'MIXED_PRECISION' };
    const read = parseQuantization({ ...config, quantized_layers: layers }, 'config.json');
    expect(read).toEqual({ method: 'nvfp4' });
  });
});
