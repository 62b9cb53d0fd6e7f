import { expect, test } from 'vitest';
import { STEP_NAMES, stepsOf } from '../../../src/cli/offline/optimize-steps.ts';
import type { Step } from '../../../src/optimize/steps/step.ts';
import { ConfigFile, settingsFrom } from '../../support/settings.ts';

async function parse(line: string, env: NodeJS.ProcessEnv = {}): Promise<Step[]> {
  const words = line === '' ? [] : line.split(' ');
  const settings = await settingsFrom('optimize', ['--out', 'x', ...words], env);
  return stepsOf(settings.inOrder(STEP_NAMES));
}

test('steps come in the order of their flags, and others change the one before them', async () => {
  const line =
    '--prune-layers 2 --refit none --sparsity 50% --criterion wanda --block-size 2 ' +
    '--prune-mlp 30% --ratios sensitivity --prune-heads 50% --of queries --rounding gptq --block-size 128';
  expect(await parse(line)).toEqual([
    { step: 'prune-layers', amount: { kind: 'count', count: 2 }, refit: false },
    { step: 'sparsity', pattern: 0.5, criterion: 'wanda', blockSize: 2, refit: false },
    { step: 'prune-mlp', share: 0.3, ratios: 'sensitivity', refit: true },
    { step: 'prune-heads', share: 0.5, of: 'queries', refit: true },
    { step: 'rounding', method: 'gptq', blockSize: 128 },
  ]);
});

test('a schedule is several steps', async () => {
  const steps = await parse('--sparsity 80% --schedule polynomial --rounds 2');
  const shares = steps.map((step) => (step.step === 'sparsity' ? [step.pattern, step.refit] : []));
  expect(shares).toEqual([
    [0.8 * (1 - 0.5 ** 3), true],
    [0.8, true],
  ]);
  expect(await parse('--sparsity 80% --schedule polynomial')).toHaveLength(4);
});

test.each([
  ['--prune-mlp 100%', /--prune-mlp 100%: expected more than 0% and less than 100%/],
  ['--prune-mlp 0%', /more than 0%/],
  ['--prune-mlp 30', /--prune-mlp 30: expected/],
  ['--prune-layers at:-1', /--prune-layers at:-1: expected a share such as 25%, .*at:3,4/],
  ['--sparsity 3:4', /--sparsity 3:4/],
  ['--sparsity 2:4 --block-size 2', /2:4 has no blocks/],
  ['--sparsity 2:4 --schedule polynomial', /--schedule needs a share/],
  ['--sparsity 50% --block-size 3', /expected one of 1, 2, 4, 8, 16/],
  ['--rounding gptq --block-size 2', /expected one of 16, 32, 64, 128/],
  ['--rounding best', /expected nearest, gptq or awq/],
  ['--rounding gptq --prune-mlp 30%', /--rounding must be the last step/],
  ['--criterion wanda --sparsity 50%', /--criterion goes right after --sparsity/],
  ['--prune-mlp 30% --ratios best', /expected uniform or sensitivity/],
  ['--prune-heads 50% --ratios sensitivity', /--ratios goes right after --prune-mlp/],
  ['--prune-mlp 30% --of queries', /--of goes right after --prune-heads/],
  ['--rounding gptq --refit none', /--refit goes right after/],
  ['--sparsity 50% --rounds 1', /--rounds 1: expected a whole number from 2 to 100/],
])('refused: %s', async (line, message) => {
  await expect(parse(line)).rejects.toThrow(message);
});

test('nothing to do is refused', async () => {
  await expect(parse('')).rejects.toThrow(/nothing to do/);
});

test('steps of the environment come in a fixed order, those of a file in its own', async () => {
  const env = {
    CHAIRLIFT_ROUNDING: 'gptq',
    CHAIRLIFT_REFIT: 'none',
    CHAIRLIFT_PRUNE_MLP: '30%',
  };
  const pruned = { step: 'prune-mlp', share: 0.3, ratios: 'uniform', refit: false };
  const rounded = { step: 'rounding', method: 'gptq', blockSize: 64 };
  expect(await parse('', env)).toEqual([pruned, rounded]);
  // Typed flags are the whole recipe.
  expect(await parse('--rounding awq', env)).toEqual([{ ...rounded, method: 'awq' }]);
  const file = await ConfigFile.create();
  const yaml = 'sparsity: 2:4\nprune-mlp: 30%\nrefit: none\nrounding: gptq';
  const settings = await file.open('optimize', yaml, ['--out', 'x']);
  expect(stepsOf(settings.inOrder(STEP_NAMES)).map(({ step }) => step)).toEqual([
    'sparsity',
    'prune-mlp',
    'rounding',
  ]);
  await file.remove();
});
