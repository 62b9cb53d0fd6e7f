/** Folders that steps make: what is in them, and that what is served is what is in them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { readEvalFile } from '../../src/eval/eval-file.ts';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { DecoderConfig } from '../../src/model/huggingface/config.ts';
import { inspectModelFolder } from '../../src/model/huggingface/model-folder.ts';
import type { WeightSource } from '../../src/model/huggingface/weights.ts';
import { openSource } from '../../src/optimize/folder/checkpoint.ts';
import type { Sparsity, Step } from '../../src/optimize/steps/step.ts';
import {
  optimized,
  SMALL,
  SMALL_SHAPE,
  PRUNE_MLP,
  ROUNDING,
  SPARSITY,
} from '../support/optimized.ts';
import { OneText } from '../support/one-text.ts';
import { referenceLogits } from '../support/reference-llama.ts';

const cacheDirectory = await mkdtemp(join(tmpdir(), 'chairlift-test-'));
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));

const IDS = [3, 141, 59, 26, 53, 58, 97];

async function openFolder(path: string) {
  const folder = await inspectModelFolder(path);
  if (folder.kind !== 'huggingface') throw new Error(`${path} has no weights`);
  return { ...folder, weights: await folder.open() };
}

async function servedLogits(path: string): Promise<number[]> {
  const options = { precision: 'fp32', cacheDirectory } as const;
  const text = new OneText(await prepareModel({ kind: 'folder', path }, options), 16);
  const logits = Array.from(text.extend(IDS));
  text.release();
  return logits;
}

function deviation(actual: readonly number[], expected: readonly number[]): number {
  const largest = Math.max(...expected.map(Math.abs));
  return Math.max(...expected.map((value, i) => Math.abs(value - (actual[i] ?? NaN)))) / largest;
}

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

/** By layer, which rows of a tensor are not in the pruned one. */
async function missingRows(
  suffix: string,
  [before, rowsBefore]: readonly [WeightSource, number],
  [after, rowsAfter]: readonly [WeightSource, number],
  { hiddenSize, numLayers }: DecoderConfig,
): Promise<ReadonlySet<number>[]> {
  const rowsOf = async (weights: WeightSource, layer: number, rows: number) => {
    const values = await weights.get(`model.layers.${layer}.${suffix}`, [rows, hiddenSize]);
    return Array.from({ length: rows }, (_, row) =>
      values.subarray(row * hiddenSize, (row + 1) * hiddenSize).join(),
    );
  };
  return Promise.all(
    Array.from({ length: numLayers }, async (_, layer) => {
      const kept = new Set(await rowsOf(after, layer, rowsAfter));
      const all = await rowsOf(before, layer, rowsBefore);
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

describe('pruning', () => {
  test('channels that are removed are missing, as if they were 0', async () => {
    const before = await stored();
    const { path, report } = await optimized(SMALL, [{ ...PRUNE_MLP, refit: false }]);
    const after = await openFolder(path);
    expect(after.config.intermediateSize).toBe(96);
    expect(report.steps).toMatchObject([{ intermediate_size: [128, 96] }]);
    expect(report.after.parameters).toBeLessThan(report.before.parameters);
    const removed = await missingRows(
      'mlp.gate_proj.weight',
      [before.weights, 128],
      [after.weights, 96],
      after.config,
    );
    expect(removed.map(({ size }) => size)).toEqual([32, 32]);
    const zeroed = withoutColumns(before.weights, (name) =>
      name.endsWith('down_proj.weight') ? (removed[layerOf(name)] ?? null) : null,
    );
    const expected = await referenceLogits(before.config, zeroed, IDS);
    expect(deviation(await servedLogits(path), expected)).toBeLessThan(1e-4);
    await Promise.all([before.weights.close(), after.weights.close()]);
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
      [before.weights, 64],
      [after.weights, 16 * numHeads],
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

  test('a re-fit brings a model nearer to what it was', async () => {
    const foothill = { kind: 'folder', path: 'models/foothill' } as const;
    const { texts } = await readEvalFile('models/summit/eval.jsonl');
    const tokenizer = await TextTokenizer.load('models/foothill');
    const encoded = texts
      .slice(0, 20)
      .map((text) => tokenizer.encode(text, { addSpecialTokens: true }));
    const calibration = { from: 'eval.jsonl', texts: encoded };
    const more = { numTokens: 2048, calibration, evaluation: calibration };
    const perplexity = async (step: Step) => {
      const { report } = await optimized(foothill, [step], more);
      return report.after.perplexity / report.before.perplexity;
    };
    const mlp: Step = { step: 'prune-mlp', share: 0.4, refit: true };
    const refitted = await perplexity(mlp);
    expect(refitted).toBeGreaterThan(1);
    expect(await perplexity({ ...mlp, refit: false })).toBeGreaterThan(refitted);
    const layers: Step = {
      step: 'prune-layers',
      amount: { kind: 'count', count: 1 },
      refit: true,
    };
    const healed = await perplexity(layers);
    expect(await perplexity({ ...layers, refit: false })).toBeGreaterThan(healed);
  });

  test('of families with fused matrices and other norms, what is made is served', async () => {
    const steps: Step[] = [
      { step: 'prune-mlp', share: 0.5, refit: true },
      { step: 'prune-layers', amount: { kind: 'count', count: 1 }, refit: true },
      { step: 'sparsity', pattern: '2:4', criterion: 'wanda', blockSize: 1, refit: false },
    ];
    for (const name of ['phi3', 'gemma3', 'granite-hybrid', 'smollm3']) {
      const source = { kind: 'folder', path: `test/fixtures/families/${name}` } as const;
      const { path, report } = await optimized(source, steps);
      expect(report.after.zeros, name).toBeCloseTo(0.5, 2);
      const logits = await servedLogits(path);
      expect(logits.every(Number.isFinite), name).toBe(true);
    }
  });
});

describe('sparsity', () => {
  const downOf = async (path: string) => {
    const { config, weights } = await openFolder(path);
    const shape = [config.hiddenSize, config.intermediateSize];
    const down = await weights.get('model.layers.1.mlp.down_proj.weight', shape);
    await weights.close();
    return down;
  };

  test.each<[string, Partial<Sparsity>, number]>([
    ['magnitude', {}, 0.5],
    ['wanda', { criterion: 'wanda', pattern: 0.9 }, 0.9],
    ['2:4', { criterion: 'wanda', pattern: '2:4', refit: true }, 0.5],
    ['blocks', { blockSize: 2 }, 0.5],
  ])('%s: as many weights are 0 as were asked for', async (_, change, share) => {
    const { report } = await optimized(SMALL, [{ ...SPARSITY, ...change }]);
    expect(report.after.zeros).toBeCloseTo(share, 2);
    expect(report.before.zeros).toBeLessThan(0.01);
  });

  test.each([
    ['of each row', 0.9, SMALL_SHAPE.intermediate_size],
    ['two of four neighbours', '2:4', 4],
  ] as const)('wanda removes as many %s', async (_, pattern, width) => {
    const { path } = await optimized(SMALL, [{ ...SPARSITY, criterion: 'wanda', pattern }]);
    const down = await downOf(path);
    const zeros = Array.from({ length: down.length / width }, (__, row) =>
      down.subarray(row * width, (row + 1) * width).filter((value) => value === 0),
    );
    const counts = new Set(zeros.map(({ length }) => length));
    expect([...counts]).toEqual([Math.round(width * (pattern === '2:4' ? 0.5 : pattern))]);
  });

  test('blocks go as a whole', async () => {
    const { path } = await optimized(SMALL, [{ ...SPARSITY, blockSize: 2 }]);
    const down = await downOf(path);
    const pairs = Array.from({ length: down.length / 2 }, (_, i) => [down[2 * i], down[2 * i + 1]]);
    const halves = pairs.filter(([a, b]) => (a === 0) !== (b === 0)).length;
    // A few are 0 by chance.
    expect(halves).toBeLessThan(0.02 * pairs.length);
  });
});

describe('rounding', () => {
  test.each(['nearest', 'gptq', 'awq'] as const)(
    '%s: the very integers are served',
    async (method) => {
      const steps: Step[] = [PRUNE_MLP, { ...ROUNDING, method }];
      const { path } = await optimized(SMALL, steps);
      const folder = await openFolder(path);
      // 96 columns: the last block of a row is half of one.
      expect(folder.config.intermediateSize).toBe(96);
      expect(folder.stored).toMatchObject({ precision: 'int4', isNative: true });
      const shape = [folder.config.hiddenSize, 96];
      expect(folder.weights.layout?.('model.layers.0.mlp.down_proj.weight', shape)).toMatchObject({
        blockSize: 64,
      });
      const expected = await referenceLogits(folder.config, folder.weights, IDS);
      expect(deviation(await servedLogits(path), expected)).toBeLessThan(1e-4);
      await folder.weights.close();
      const model = await prepareModel(
        { kind: 'folder', path },
        { precision: 'int4', cacheDirectory, nativeKernels: { kvCacheDtype: 'float32' } },
      );
      const decoder = new CpuDecoder(model, { numSlots: 1, maxModelLen: 16 });
      decoder.release();
    },
  );
});
