/** Plans that do not fit, are given again, or are interrupted. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { openSource } from '../../src/optimize/folder/checkpoint.ts';
import { optimizeModel } from '../../src/optimize/optimize.ts';
import type { Step } from '../../src/optimize/steps/step.ts';
import {
  KILLED_PLAN,
  optimized,
  planOf,
  SMALL,
  PRUNE_MLP,
  ROUNDING,
  SPARSITY,
} from '../support/optimized.ts';

const parent = await mkdtemp(join(tmpdir(), 'chairlift-test-'));
afterAll(() => rm(parent, { recursive: true, force: true }));

describe('refused', () => {
  test.each<[RegExp, Step]>([
    [/99.9 % of 128 channels/, { ...PRUNE_MLP, share: 0.999 }],
    [/0.1 % of 128 channels/, { ...PRUNE_MLP, share: 0.001 }],
    [/5 % of 2 groups/, { step: 'prune-heads', share: 0.05, of: 'groups', refit: true }],
    [
      /no layer 7: this model has 0 to 1/,
      { step: 'prune-layers', amount: { kind: 'layers', layers: [1, 7] }, refit: true },
    ],
    [
      /layer 0 cannot be removed/,
      { step: 'prune-layers', amount: { kind: 'layers', layers: [0] }, refit: true },
    ],
    [/2 of 2 layers/, { step: 'prune-layers', amount: { kind: 'count', count: 2 }, refit: true }],
  ])('%s, and nothing is left', async (message, step) => {
    const folder = await mkdtemp(join(parent, 'refused-'));
    const plan = planOf(SMALL, [step]);
    await expect(optimizeModel(plan, join(folder, 'result'), () => {})).rejects.toThrow(message);
    expect(await readdir(folder)).toEqual([]);
  });

  test('what is quantized, multimodal, or is another kind of model', async () => {
    const open = (path: string) => openSource({ kind: 'folder', path });
    const { path } = await optimized(SMALL, [ROUNDING]);
    await expect(open(path)).rejects.toThrow(/quantized already \(compressed-tensors\)/);
    // Before the model has written texts, and nothing is left.
    const folder = await mkdtemp(join(parent, 'refused-'));
    const plan = planOf({ kind: 'folder', path }, [PRUNE_MLP], { calibration: null });
    const done: string[] = [];
    const making = optimizeModel(plan, join(folder, 'result'), (what) => done.push(what));
    await expect(making).rejects.toThrow(/quantized already/);
    expect(done).toEqual([]);
    expect(await readdir(folder)).toEqual([]);
    await expect(open('test/fixtures/families/smolvlm')).rejects.toThrow(/is multimodal/);
    await expect(open('test/exports/genai')).rejects.toThrow(/ONNX export/);
    await expect(open('test/fixtures/families/mixtral')).rejects.toThrow(/has experts/);
    await expect(open('test/fixtures/families/gpt2')).rejects.toThrow(/rotary positions/);
    const olmo = { kind: 'folder', path: 'test/fixtures/families/olmo2' } as const;
    const heads: Step = { step: 'prune-heads', share: 0.5, of: 'groups', refit: true };
    await expect(optimized(olmo, [heads])).rejects.toThrow(/all heads together/);
  });
});

describe('again', () => {
  const steps: Step[] = [PRUNE_MLP, { ...ROUNDING, method: 'gptq' }];

  test('the same seed makes the same folder, another seed another', async () => {
    // The model writes the texts itself.
    const more = { numTokens: 256, calibration: null };
    const made: Map<string, string>[] = [];
    for (const seed of [0, 0, 1]) {
      const { path } = await optimized(SMALL, steps, { ...more, seed });
      made.push(await contentOf(path));
    }
    expect(made[0]).toEqual(made[1]);
    expect(made[0]?.get('model.safetensors')).not.toEqual(made[2]?.get('model.safetensors'));
  });

  test('after kill -9 it goes on where it was', async () => {
    const folder = await mkdtemp(join(parent, 'killed-'));
    const result = join(folder, 'result');
    const signals: unknown[] = [];
    for (const step of [1, 2]) signals.push(await runKilled(result, `step ${step}, sparsity`, '1'));
    expect(signals).toEqual(['SIGKILL', 'SIGKILL']);
    expect(await readdir(folder)).toEqual(['result.optimizing']);
    const seen = new Set<string>();
    await optimizeModel(KILLED_PLAN, result, (what, done) => seen.add(`${what} ${done}`));
    expect(seen).not.toContain('step 1, sparsity 0');
    expect(seen).toContain('step 2, sparsity 2');
    expect(await readdir(folder)).toEqual(['result']);
    const whole = join(folder, 'whole');
    await optimizeModel(KILLED_PLAN, whole, () => {});
    expect(await contentOf(result)).toEqual(await contentOf(whole));
  });

  test('another plan for the same folder begins anew', async () => {
    const folder = await mkdtemp(join(parent, 'other-'));
    const result = join(folder, 'result');
    const fails = optimizeModel(planOf(SMALL, [PRUNE_MLP]), result, (what) => {
      if (what === 'measuring after') throw new Error('stopped');
    });
    await expect(fails).rejects.toThrow('stopped');
    const report = await optimizeModel(planOf(SMALL, [SPARSITY]), result, () => {});
    expect(report.after.parameters).toBe(report.before.parameters);
  });
});

async function contentOf(path: string): Promise<Map<string, string>> {
  const names = (await readdir(path)).sort();
  const files = names.map(
    async (name) => [name, (await readFile(join(path, name))).toString('base64')] as const,
  );
  return new Map(await Promise.all(files));
}

/** @returns the signal that ended the process */
async function runKilled(...args: readonly string[]): Promise<unknown> {
  const script = join('test', 'support', 'killed-optimizer.ts');
  const child = fork(script, [...args], { execArgv: ['--import', 'tsx'] });
  const [, signal] = (await once(child, 'exit')) as [unknown, unknown];
  return signal;
}
