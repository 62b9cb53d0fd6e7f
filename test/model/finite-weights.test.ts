/** Weights that are NaN or infinite: refused when a model is built, whatever it is stored and built in. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { BuildOptions } from '../../src/model/build/build-options.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { areFinite } from '../../src/model/huggingface/finite.ts';
import { SafetensorsWeights } from '../../src/model/huggingface/safetensors.ts';
import { FAMILY_FIXTURES } from '../support/families.ts';
import { NOT_FINITE, patchTensor } from '../support/patch-tensor.ts';
import { type SparseLlama, writeSparseLlama } from '../support/sparse-llama.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const NATIVE = { nativeKernels: { kvCacheDtype: 'float32' } } as const;
const BUILDS = {
  fp32: { precision: 'fp32' },
  fp16: { precision: 'fp16' },
  int8: { precision: 'int8' },
  int4: { precision: 'int4' },
  'int8, our own kernels': { precision: 'int8', ...NATIVE },
  'int4, our own kernels': { precision: 'int4', ...NATIVE },
  'int8-blocks': { precision: 'int8-blocks', ...NATIVE },
  'int4-mixed': { precision: 'int4-mixed', ...NATIVE },
} as const satisfies Record<string, Partial<BuildOptions>>;
type Build = keyof typeof BUILDS;
const ALL = Object.keys(BUILDS) as Build[];

function build(path: string, how: Build, adapter?: string) {
  return prepareModel(
    { kind: 'folder', path, adapter },
    { ...BUILDS[how], cacheDirectory: cache.path },
  );
}

/** Sizes of GGUF's types. */
const BLOCKS = {
  Q4_0: { blockSize: 32, blockBytes: 18 },
  Q4_1: { blockSize: 32, blockBytes: 20 },
  Q8_0: { blockSize: 32, blockBytes: 34 },
  Q4_K: { blockSize: 256, blockBytes: 144 },
  Q6_K: { blockSize: 256, blockBytes: 210 },
  IQ4_XS: { blockSize: 256, blockBytes: 136 },
};

let numFolders = 0;
async function copyOf(folder: string): Promise<string> {
  const path = join(cache.path, `copy-${numFolders++}`);
  await cp(folder, path, { recursive: true });
  return path;
}

const DAMAGE = 'the file is damaged, or its training has diverged';

describe('areFinite', () => {
  const LARGEST = { F32: [0xff, 0xff, 0x7f, 0x7f], F16: [0xff, 0x7b], BF16: [0x7f, 0x7f] } as const;

  it.each(['F32', 'F16', 'BF16'] as const)('finds any %s at any place', (type) => {
    const bytes = LARGEST[type].length;
    for (const length of [0, 1, 2, 3, 7, 8, 9, 16, 33]) {
      const values = new Uint8Array(length * bytes);
      for (let at = 0; at < length; at++) values.set(LARGEST[type], at * bytes);
      // The largest of both signs.
      for (let at = 1; at < length; at += 2)
        values[(at + 1) * bytes - 1] = (LARGEST[type].at(-1) ?? 0) | 0x80;
      expect(areFinite(values, type)).toBe(true);
      for (const special of Object.values(NOT_FINITE[type])) {
        for (let at = 0; at < length; at++) {
          const damaged = values.slice();
          damaged.set(special, at * bytes);
          expect(areFinite(damaged, type)).toBe(false);
        }
      }
    }
  });
});

describe.each(ALL)('a checkpoint in %s', (how) => {
  it.each([
    ['model.embed_tokens.weight', 5 * 32 + 3, '[5, 3]', 'NaN'],
    ['model.layers.1.mlp.down_proj.weight', 31 * 16 + 15, '[31, 15]', 'Infinity'],
    ['model.layers.0.self_attn.k_proj.weight', 0, '[0, 0]', '-Infinity'],
    ['model.layers.0.input_layernorm.weight', 31, '[31]', 'NaN'],
    ['model.layers.1.self_attn.q_proj.bias', 7, '[7]', 'Infinity'],
    ['lm_head.weight', 63 * 32, '[63, 0]', 'NaN'],
  ] as const)('%s', async (name, index, place, value) => {
    const path = await copyOf(join(FAMILY_FIXTURES, 'llama'));
    const file = join(path, 'model.safetensors');
    await patchTensor(file, name, 2 * index, Uint8Array.from(NOT_FINITE.BF16[value]));
    await expect(build(path, how)).rejects.toThrow(
      `${file}: tensor "${name}" has a value of ${value} at ${place}: ${DAMAGE}`,
    );
  });
});

it("names an expert's value by its place in the tensor of all experts", async () => {
  const path = await copyOf(join(FAMILY_FIXTURES, 'gpt-oss-mxfp4'));
  const file = join(path, 'model.safetensors');
  const layer = 'model.layers.0.mlp.experts';
  // The value is of expert 2, row 9, its only block.
  await patchTensor(file, `${layer}.down_proj_scales`, 2 * 32 + 9, Uint8Array.of(255));
  await expect(build(path, 'int8')).rejects.toThrow(
    `${file}: tensor "${layer}.down_proj_blocks" has a value of NaN at [2, 9, 0]`,
  );
});

it("names an adapter's tensor", async () => {
  const adapter = await copyOf('test/fixtures/adapters/llama-all');
  const file = join(adapter, 'adapter_model.safetensors');
  const name = 'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight';
  const weights = await SafetensorsWeights.open([file]);
  const dtype = weights.typeOf(name) as keyof typeof NOT_FINITE;
  await weights.close();
  await patchTensor(file, name, 0, Uint8Array.from(NOT_FINITE[dtype].NaN));
  await expect(build(join(FAMILY_FIXTURES, 'llama'), 'int8', adapter)).rejects.toThrow(
    `${file}: tensor "${name}" has a value of NaN at [0, 0]`,
  );
});

it.each([
  ['fp16', 1e5, '"model.layers.0.mlp.up_proj.weight" has 99840,'],
  ['int4, our own kernels', 1e7, 'weight_scales" has '],
] as const)('in %s a weight of %d is refused, too', async (how, value, message) => {
  const path = await copyOf(join(FAMILY_FIXTURES, 'llama'));
  const [bits = 0] = new Uint32Array(Float32Array.of(value).buffer);
  const bytes = Uint8Array.of((bits >> 16) & 255, bits >> 24);
  const tensor = 'model.layers.0.mlp.up_proj.weight';
  await patchTensor(join(path, 'model.safetensors'), tensor, 0, bytes);
  const refusal = await build(path, how).then(
    () => 'built',
    (error: unknown) => String(error),
  );
  expect(refusal).toContain(message);
  expect(refusal).toContain('which is too large for float16: use --precision fp32');
  await build(path, 'fp32');
});

describe('a GGUF file', () => {
  const NAME = 'blk.0.ffn_up.weight';
  const cases: readonly (readonly [type: SparseLlama['type'], at: number, kept: Build])[] = [
    ['Q8_0', 0, 'int8, our own kernels'],
    ['Q4_1', 2, 'int4, our own kernels'],
    ['Q4_K', 2, 'int4'],
    ['Q6_K', 208, 'int8'],
    ['IQ4_XS', 0, 'int8, our own kernels'],
  ];

  it.each(cases)('in %s with a scale or minimum that is not finite', async (type, at, kept) => {
    for (const value of ['NaN', 'Infinity'] as const) {
      const path = join(cache.path, `${type}-${value}.gguf`);
      // Place in the last block: a row has several, or is one.
      const { blockBytes } = BLOCKS[type];
      const last = 256 * (256 / BLOCKS[type].blockSize) - 1;
      const half = Uint8Array.from(NOT_FINITE.F16[value]);
      const pieces = { [NAME]: new Map([[last * blockBytes + at, half]]) };
      await writeSparseLlama(path, { vocabSize: 64, width: 256, type, pieces });
      const refusal = new RegExp(
        `^${path}: tensor "${NAME}" has a (scale|offset) of (NaN|-?Infinity) at \\[255, \\d+\\]: ${DAMAGE}$`,
      );
      await expect(build(path, kept)).rejects.toThrow(refusal);
      await expect(build(path, 'fp32')).rejects.toThrow(
        `${path}: tensor "${NAME}" has a value of `,
      );
    }
  });

  it('with a norm that is not finite', async () => {
    const path = join(cache.path, 'norm.gguf');
    const bytes = Uint8Array.from(NOT_FINITE.F32.NaN);
    const pieces = { 'output_norm.weight': new Map([[4 * 7, bytes]]) };
    await writeSparseLlama(path, { vocabSize: 64, width: 256, type: 'Q8_0', pieces });
    await expect(build(path, 'int8, our own kernels')).rejects.toThrow(
      `${path}: tensor "output_norm.weight" has a value of NaN at [7]: ${DAMAGE}`,
    );
  });
});

describe('an ONNX export', () => {
  const hub = 'test/exports/hub';

  it('with its weights in another file', async () => {
    const path = await copyOf(hub);
    const file = join(path, 'onnx', 'model.onnx_data');
    const data = await readFile(file);
    data.set(NOT_FINITE.F32.NaN, 4 * 100);
    await writeFile(file, data);
    await expect(build(path, 'fp32')).rejects.toThrow(
      new RegExp(`^${file}: tensor ".+" has a value of NaN at \\[.+\\]: ${DAMAGE}$`),
    );
  });

  it('but minus infinity, which masks have, is not refused', async () => {
    const path = await copyOf(hub);
    const file = join(path, 'onnx', 'model.onnx_data');
    const data = await readFile(file);
    data.set(NOT_FINITE.F32['-Infinity'], 4 * 100);
    await writeFile(file, data);
    expect((await build(path, 'fp32')).manifest.precision).toBe('fp32');
  });
});
