/** Pruned models: what is in their folders, and that what is served is what is in them. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import type { DecoderConfig } from '../../src/model/huggingface/config.ts';
import type { WeightSource } from '../../src/model/huggingface/weights.ts';
import { openSource } from '../../src/optimize/folder/checkpoint.ts';
import { layerTensors, outerTensors } from '../../src/optimize/folder/model-tensors.ts';
import type { Step } from '../../src/optimize/steps/step.ts';
import { deviation, IDS, openFolder, servedLogits } from '../support/optimized-folder.ts';
import {
  optimized,
  PRUNE_MLP,
  ROUNDING,
  SMALL,
  SMALL_SHAPE,
  SPARSITY,
} from '../support/optimized.ts';
import { everyOrLong } from '../support/long-runs.ts';
import { referenceLogits } from '../support/reference-llama.ts';
import { floatTensor, writeSafetensors } from '../support/safetensors-writer.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Weights with some columns of matrices at 0. */
function withoutColumns(
  weights: WeightSource,
  removed: (name: string) => ReadonlySet<number> | null,
): WeightSource {
  return {
    async get(name, shape) {
      const values = await weights.get(name, shape);
      const columns = removed(name);
      const [, width = 1] = shape;
      return columns === null ? values : values.map((v, i) => (columns.has(i % width) ? 0 : v));
    },
    close: () => weights.close(),
  };
}

/** By layer, which rows of a tensor are not in the pruned one; each with its rows by layer. */
async function missingRows(
  suffix: string,
  before: readonly [WeightSource, readonly number[]],
  after: readonly [WeightSource, readonly number[]],
  { hiddenSize, numLayers }: DecoderConfig,
): Promise<ReadonlySet<number>[]> {
  const rowsOf = async ([weights, heights]: typeof before, layer: number) => {
    const rows = heights[layer] ?? 0;
    const values = await weights.get(`model.layers.${layer}.${suffix}`, [rows, hiddenSize]);
    return Array.from({ length: rows }, (_, row) =>
      values.subarray(row * hiddenSize, (row + 1) * hiddenSize).join(),
    );
  };
  return Promise.all(
    Array.from({ length: numLayers }, async (_, layer) => {
      const kept = new Set(await rowsOf(after, layer));
      const all = await rowsOf(before, layer);
      return new Set(all.flatMap((row, index) => (kept.has(row) ? [] : [index])));
    }),
  );
}

const layerOf = (name: string) => Number(/layers\.(\d+)\./.exec(name)?.[1]);

/** The shape in float16, as optimize stores it. */
async function stored(): Promise<{ config: DecoderConfig; weights: WeightSource }> {
  const { path } = await optimized(SMALL, [{ ...SPARSITY, pattern: 1e-9 }]);
  return openFolder(path);
}

/** @param removed by layer, channels of its MLP that the model in `path` lacks */
async function expectWithoutChannels(
  path: string,
  { config, weights }: Awaited<ReturnType<typeof stored>>,
  removed: Awaited<ReturnType<typeof missingRows>>,
): Promise<void> {
  const zeroed = withoutColumns(weights, (name) =>
    name.endsWith('down_proj.weight') ? (removed[layerOf(name)] ?? null) : null,
  );
  const expected = await referenceLogits(config, zeroed, IDS);
  expect(deviation(await servedLogits(path), expected)).toBeLessThan(1e-4);
}

/** The shape as a folder whose second MLP adds little. */
async function withWeakLayer(): Promise<string> {
  const path = await temporaryDirectory();
  const { json, config, weights } = await openSource(SMALL);
  const { before, after } = outerTensors(config);
  const shapes = [...before, ...[0, 1].flatMap((layer) => layerTensors(config, layer)), ...after];
  const tensors = shapes.map(async ({ name, shape }) => {
    const factor = name === 'model.layers.1.mlp.down_proj.weight' ? 1 / 16 : 1;
    const values = (await weights.get(name, shape)).map((value) => factor * value);
    return [name, floatTensor(shape, values)] as const;
  });
  await writeSafetensors(
    join(path, 'model.safetensors'),
    Object.fromEntries(await Promise.all(tensors)),
  );
  await writeFile(join(path, 'config.json'), JSON.stringify(json));
  return path;
}

test('channels that are removed are missing, as if they were 0', async () => {
  const before = await stored();
  const { path, report } = await optimized(SMALL, [{ ...PRUNE_MLP, refit: false }]);
  const after = await openFolder(path);
  expect(after.config.intermediateSizes).toEqual([96, 96]);
  expect(report.steps).toMatchObject([{ intermediate_size: [128, 96] }]);
  expect(report.after.parameters).toBeLessThan(report.before.parameters);
  const removed = await missingRows(
    'mlp.gate_proj.weight',
    [before.weights, [128, 128]],
    [after.weights, [96, 96]],
    after.config,
  );
  expect(removed.map(({ size }) => size)).toEqual([32, 32]);
  await expectWithoutChannels(path, before, removed);
  await Promise.all([before.weights.close(), after.weights.close()]);
});

test('layers where it costs less lose more channels, and are served', async () => {
  const source = { kind: 'folder', path: await withWeakLayer() } as const;
  const steps: Step[] = [{ ...PRUNE_MLP, ratios: 'sensitivity', refit: false }];
  const { path, report } = await optimized(source, steps);
  const [before, after] = await Promise.all([source.path, path].map(openFolder));
  if (!before || !after) throw new Error('no folders');
  const widths = after.config.intermediateSizes;
  expect(report.steps).toMatchObject([{ intermediate_size: [128, widths] }]);
  // As many in all as with equal shares.
  expect(widths.reduce((sum, width) => sum + width, 0)).toBe(2 * 96);
  expect(widths[0]).toBeGreaterThan(widths[1] ?? Infinity);
  const removed = await missingRows(
    'mlp.gate_proj.weight',
    [before.weights, before.config.intermediateSizes],
    [after.weights, widths],
    after.config,
  );
  expect(removed.map(({ size }) => size)).toEqual(widths.map((width) => 128 - width));
  await expectWithoutChannels(path, before, removed);
  await Promise.all([before.weights.close(), after.weights.close()]);
});

test('layers of other widths take further steps, and our own kernels', async () => {
  const first: Step[] = [{ ...PRUNE_MLP, ratios: 'sensitivity' }];
  const { path } = await optimized({ kind: 'folder', path: await withWeakLayer() }, first);
  expect(deviation(await servedLogits(path, 'int8'), await servedLogits(path))).toBeLessThan(0.1);
  const { path: further } = await optimized({ kind: 'folder', path }, [
    { ...PRUNE_MLP, share: 0.5 },
    { step: 'prune-layers', amount: { kind: 'layers', layers: [1] }, refit: true },
    ROUNDING,
  ]);
  const [before, after] = await Promise.all([path, further].map(openFolder));
  const half = (before?.config.intermediateSizes[0] ?? 0) / 2;
  expect(after?.config.intermediateSizes).toEqual([8 * Math.round(half / 8)]);
  await Promise.all([before?.weights.close(), after?.weights.close()]);
});

test("what a layer loses does not show where an MLP's output is normalized", async () => {
  const source = { kind: 'folder', path: 'test/fixtures/families/olmo2' } as const;
  const step: Step = { ...PRUNE_MLP, share: 0.5, ratios: 'sensitivity' };
  await expect(optimized(source, [step])).rejects.toThrow(
    /olmo2 normalizes the output of its MLPs/,
  );
});

test.each([
  ['groups', 2, 1],
  ['queries', 2, 2],
] as const)('heads that are removed, %s, are missing', async (of, numHeads, numKvHeads) => {
  const before = await stored();
  const step: Step = { step: 'prune-heads', share: 0.5, of, refit: false };
  const { path } = await optimized(SMALL, [step]);
  const after = await openFolder(path);
  expect(after.config).toMatchObject({ numHeads, numKvHeads, headDim: 16 });
  const removed = await missingRows(
    'self_attn.q_proj.weight',
    [before.weights, [64, 64]],
    [after.weights, [16 * numHeads, 16 * numHeads]],
    after.config,
  );
  const zeroed = withoutColumns(before.weights, (name) =>
    name.endsWith('o_proj.weight') ? (removed[layerOf(name)] ?? null) : null,
  );
  const expected = await referenceLogits(before.config, zeroed, IDS);
  expect(deviation(await servedLogits(path), expected)).toBeLessThan(1e-4);
  await Promise.all([before.weights.close(), after.weights.close()]);
});

test('layers that are removed are missing, the others have new numbers', async () => {
  const step: Step = {
    step: 'prune-layers',
    amount: { kind: 'layers', layers: [1, 2] },
    refit: false,
  };
  const four = { ...SMALL, config: { ...SMALL_SHAPE, num_hidden_layers: 4 } } as const;
  const { path, report } = await optimized(four, [step]);
  expect(report.steps).toMatchObject([{ removed: [1, 2], refitted: [] }]);
  const { config, weights } = await openFolder(path);
  expect(config.numLayers).toBe(2);
  const original = (await openSource(four)).weights;
  const shape = [128, 64];
  const last = await weights.get('model.layers.1.mlp.up_proj.weight', shape);
  const expected = await original.get('model.layers.3.mlp.up_proj.weight', shape);
  expect(Math.max(...last.map((v, i) => Math.abs(v - (expected[i] ?? 0))))).toBeLessThan(1e-4);
  const logits = await referenceLogits(config, weights, IDS);
  expect(deviation(await servedLogits(path), logits)).toBeLessThan(1e-4);
  await weights.close();
});

const REFITTED: readonly Step[] = [
  { ...PRUNE_MLP, share: 0.4 },
  { step: 'prune-layers', amount: { kind: 'count', count: 1 }, refit: true },
];

test.each(everyOrLong(2, REFITTED))(
  'a re-fit of $step brings a model nearer to what it was',
  async (step) => {
    const foothill = { kind: 'folder', path: 'models/foothill' } as const;
    const { texts } = await readEvalFile('models/summit/eval.jsonl');
    const tokenizer = await TextTokenizer.load('models/foothill');
    const encoded = texts
      .slice(0, 20)
      .map((text) => tokenizer.encode(text, { addSpecialTokens: true }));
    const calibration = { from: 'eval.jsonl', texts: encoded };
    const more = { numTokens: 2048, calibration, evaluation: calibration };
    const perplexity = async (refit: boolean) => {
      const { report } = await optimized(foothill, [{ ...step, refit } as Step], more);
      return report.after.perplexity / report.before.perplexity;
    };
    const refitted = await perplexity(true);
    expect(refitted).toBeGreaterThan(1);
    expect(await perplexity(false)).toBeGreaterThan(refitted);
  },
);

test('of families with fused matrices and other norms, what is made is served', async () => {
  const steps: Step[] = [
    { ...PRUNE_MLP, share: 0.5 },
    { step: 'prune-layers', amount: { kind: 'count', count: 1 }, refit: true },
    { step: 'sparsity', pattern: '2:4', criterion: 'wanda', blockSize: 1, refit: false },
  ];
  for (const name of everyOrLong(2, [
    'phi3',
    'gemma3',
    'granite-hybrid',
    'smollm3',
    'llama4-small',
  ])) {
    const source = { kind: 'folder', path: `test/fixtures/families/${name}` } as const;
    const { path, report } = await optimized(source, steps);
    expect(report.after.zeros, name).toBeCloseTo(0.5, 2);
    const logits = await servedLogits(path);
    expect(logits.every(Number.isFinite), name).toBe(true);
  }
});
