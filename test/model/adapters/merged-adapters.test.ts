/** Adapters that PEFT wrote, merged, against what PEFT computes; see scripts/references/adapters.py. */
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { Precision } from '../../../src/model/manifest.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { OneText } from '../../support/one-text.ts';
import { floatTensor, type RawTensor, writeSafetensors } from '../../support/safetensors-writer.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FIXTURES = 'test/fixtures';
const ADAPTERS = join(FIXTURES, 'adapters');

const cache = await temporaryCache();
afterAll(() => cache.remove());

const referenceSchema = z.object({
  family: z.string(),
  ids: z.array(z.number()),
  greedy: z.array(z.number()),
  logits: z.array(z.number()),
});

function build(family: string, adapter: string | undefined, precision: Precision = 'fp32') {
  const path = join(FIXTURES, 'families', family);
  const source = { kind: 'folder', path, adapter } as const;
  return prepareModel(source, { precision, cacheDirectory: cache.path, maxModelLen: 64 });
}

/** Largest difference, against the largest expected value. */
function deviation(actual: ArrayLike<number>, expected: readonly number[]): number {
  expect(actual).toHaveLength(expected.length);
  const largest = Math.max(...expected.map(Math.abs));
  return Math.max(...expected.map((value, i) => Math.abs(value - (actual[i] ?? NaN)))) / largest;
}

async function referenceOf(name: string) {
  const text = await readFile(join(ADAPTERS, name, 'reference.json'), 'utf8');
  return referenceSchema.parse(JSON.parse(text));
}

describe.each(await readdir(ADAPTERS))('%s', (name) => {
  it('gives the logits and greedy tokens of PEFT', async () => {
    const folder = join(ADAPTERS, name);
    const { family, ids, greedy, logits } = await referenceOf(name);
    const merged = new OneText(await build(family, folder), 64);
    const first = merged.extend(ids);
    expect(deviation(first, logits)).toBeLessThan(1e-5);
    expect(merged.continueGreedily(first, greedy.length)).toEqual(greedy);
    merged.release();
    const base = new OneText(await build(family, undefined), 64);
    expect(deviation(base.extend(ids), logits)).toBeGreaterThan(0.05);
    base.release();
  });
});

const ROUNDED = [
  'gemma2-dora',
  'llama-patterns',
  'granite-saved',
  'llama-query',
  'llama-all',
  'phi3',
  'olmo2-embedding',
  'qwen3-rslora',
];

it.each(everyOrLong(2, ROUNDED))('%s is rounded with its model', async (name) => {
  const { family, ids, logits } = await referenceOf(name);
  for (const [precision, tolerance] of [
    ['fp16', 0.01],
    ['int8', 0.15],
    ['int4', 1],
  ] as const) {
    const rounded = new OneText(await build(family, join(ADAPTERS, name), precision), 64);
    expect(deviation(rounded.extend(ids), logits), precision).toBeLessThan(tolerance);
    rounded.release();
  }
});

/** A copy of an adapter with another configuration, or one more tensor. */
async function changed(
  name: string,
  config: object,
  extra: Record<string, RawTensor> | null = null,
) {
  const folder = join(await temporaryDirectory(), name);
  await cp(join(ADAPTERS, name), folder, { recursive: true });
  const path = join(folder, 'adapter_config.json');
  const stored: object = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...stored, ...config }));
  if (extra) await writeSafetensors(join(folder, 'adapter_model.safetensors'), extra);
  return folder;
}

const pair = (module: string, a: number[], b: number[]) => ({
  [`base_model.model.${module}.lora_A.weight`]: floatTensor(
    a,
    new Float32Array((a[0] ?? 0) * (a[1] ?? 0)),
  ),
  [`base_model.model.${module}.lora_B.weight`]: floatTensor(
    b,
    new Float32Array((b[0] ?? 0) * (b[1] ?? 0)),
  ),
});
const QUERY = 'model.layers.0.self_attn.q_proj';

it.each([
  ['llama-all', { peft_type: 'IA3' }, null, /peft_type IA3 is not supported/],
  ['llama-all', { lora_bias: true }, null, /lora_bias is not supported/],
  ['llama-all', { target_parameters: ['mlp.experts'] }, null, /target_parameters/],
  ['llama-all', { r: 2 ** 40 }, null, /adapter_config.json is not valid|not a valid adapter/],
  ['llama-all', { alpha_pattern: { '(': 1 } }, null, /"\(" is not a regular expression/],
  [
    'llama-all',
    {},
    pair('model.layers.9.self_attn.q_proj', [2, 32], [32, 2]),
    /adapts "model.layers.9.*does not have/,
  ],
  ['llama-all', {}, pair('lm_head.x', [2, 32], [64, 2]), /adapts "lm_head.x"/],
  ['llama-all', {}, pair(QUERY, [2, 16], [32, 2]), /has shape \[2, 16\], expected \[2, 32\]/],
  ['llama-all', {}, pair(QUERY, [2, 32], [32, 3]), /has shape \[32, 3\], expected \[32, 2\]/],
] as const)('%s with %j is refused', async (name, config, extra, message) => {
  const folder = await changed(name, config, extra && { ...extra });
  const built = build('llama', folder);
  await expect(built).rejects.toThrow(ModelError);
  await expect(built).rejects.toThrow(message);
});

it('an adapter of the head is refused where head and embedding are one', async () => {
  const folder = await changed('llama-all', {}, pair('lm_head', [2, 32], [64, 2]));
  await expect(build('mistral', folder)).rejects.toThrow(/embedding and LM head are one matrix/);
});

it('a folder without an adapter is refused', async () => {
  await expect(build('llama', await temporaryDirectory())).rejects.toThrow(
    /no adapter_config.json/,
  );
});

it('another adapter, or another scale of the same one, is another model', async () => {
  const { graphPath } = await build('llama', join(ADAPTERS, 'llama-all'));
  expect((await build('llama', undefined)).graphPath).not.toBe(graphPath);
  expect((await build('llama', join(ADAPTERS, 'llama-query'))).graphPath).not.toBe(graphPath);
  const louder = await changed('llama-all', { lora_alpha: 16 });
  expect((await build('llama', louder)).graphPath).not.toBe(graphPath);
  expect((await build('llama', join(ADAPTERS, 'llama-all'))).graphPath).toBe(graphPath);
});
