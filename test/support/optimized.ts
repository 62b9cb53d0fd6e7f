import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { uniform } from '../../src/engine/sampling/philox.ts';
import type { ModelSource } from '../../src/model/build/model-source.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { type OnProgress, optimizeModel } from '../../src/optimize/optimize.ts';
import type { GivenTexts, OptimizePlan } from '../../src/optimize/plan.ts';
import type { PruneMlp, Rounding, Sparsity, Step } from '../../src/optimize/steps/step.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A small shape with widths that divide well. */
export const SMALL_SHAPE = { ...PRESETS.tiny, hidden_size: 64, intermediate_size: 128 };
export const SMALL: ModelSource = { kind: 'random', config: SMALL_SHAPE, seed: 3 };

/** Texts for a vocabulary of 64 tokens or more: calibration needs none that mean something. */
export function madeUpTexts(numTexts = 8, length = 32): GivenTexts {
  const texts = Array.from({ length: numTexts }, (_, text) =>
    Int32Array.from({ length }, (__, place) => Math.floor(64 * uniform(BigInt(text), place))),
  );
  return { from: 'made up', texts };
}

export function planOf(
  source: ModelSource,
  steps: readonly Step[],
  more: Partial<OptimizePlan> = {},
): OptimizePlan {
  const isFolder = source.kind === 'folder';
  return {
    source,
    identity: 'of this test',
    textFolder: isFolder ? source.path : null,
    steps,
    seed: 0,
    calibration: madeUpTexts(),
    evaluation: madeUpTexts(2),
    numTokens: 512,
    threads: 1,
    ...more,
  };
}

/** Applies steps, and removes the result when the running test is over. */
export async function optimized(
  source: ModelSource,
  steps: readonly Step[],
  more: Partial<OptimizePlan> = {},
  onProgress: OnProgress = () => {},
) {
  const folder = join(await temporaryDirectory(), 'made');
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'result');
  const report = await optimizeModel(planOf(source, steps, more), path, onProgress);
  return { path, report };
}

/** Plan of killed-optimizer.ts: two steps, with everything that calibration gives. */
export const KILLED_PLAN: OptimizePlan = planOf(
  SMALL,
  [0.25, 0.5].map((pattern) => ({
    step: 'sparsity',
    pattern,
    criterion: 'wanda',
    blockSize: 1,
    refit: true,
  })),
);

export const PRUNE_MLP: PruneMlp = {
  step: 'prune-mlp',
  share: 0.25,
  ratios: 'uniform',
  refit: true,
};
export const SPARSITY: Sparsity = {
  step: 'sparsity',
  pattern: 0.5,
  criterion: 'magnitude',
  blockSize: 1,
  refit: false,
};
export const ROUNDING: Rounding = { step: 'rounding', method: 'nearest', blockSize: 64 };
