/** Folders that other steps make: what is in them, and that what is served is what is in them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { Sparsity, Step } from '../../src/optimize/steps/step.ts';
import { deviation, IDS, openFolder, servedLogits } from '../support/optimized-folder.ts';
import {
  optimized,
  SMALL,
  SMALL_SHAPE,
  PRUNE_MLP,
  ROUNDING,
  SPARSITY,
} from '../support/optimized.ts';
import { referenceLogits } from '../support/reference-llama.ts';

const cacheDirectory = await mkdtemp(join(tmpdir(), 'chairlift-test-'));
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));

describe('sparsity', () => {
  const downOf = async (path: string) => {
    const { config, weights } = await openFolder(path);
    const shape = [config.hiddenSize, SMALL_SHAPE.intermediate_size];
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
      expect(folder.config.intermediateSizes).toEqual([96, 96]);
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
