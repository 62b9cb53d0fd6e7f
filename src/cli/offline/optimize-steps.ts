/** Steps of `chairlift optimize` from its flags, in the order in which they are given. */
import { polynomialShares } from '../../optimize/steps/schedule.ts';
import type { Step } from '../../optimize/steps/step.ts';
import { keysOf } from '../../settings/flag-sets.ts';
import { nameOf } from '../../settings/flags/flag-spec.ts';
import { STEP_FLAGS } from '../../settings/flags/step-flags.ts';
import type { OptionName, Options } from '../../settings/options.ts';
import type { Occurrence } from '../../settings/settings.ts';
import { UsageError } from '../../settings/usage-error.ts';

/** Rounds of a schedule, if nobody says. */
const ROUNDS = 4;

type StepName = keyof typeof STEP_FLAGS;
type StepValues = { readonly [K in StepName]: NonNullable<Options<StepName>[K]> };

export const STEP_NAMES = keysOf(STEP_FLAGS);

/** A step, and how often it is taken. */
interface Entry {
  step: Step;
  rounds: number | null;
  /** Whether a re-fit was asked for or declined. */
  refit: boolean | null;
}

/** A flag that changes a step changes the one before it. */
type Take = { readonly [K in StepName]: (value: StepValues[K], entries: Entry[]) => void };

const TAKE: Take = {
  pruneMlp: (share, entries) =>
    push(entries, { step: 'prune-mlp', share, ratios: 'uniform', refit: true }),
  pruneHeads: (share, entries) =>
    push(entries, { step: 'prune-heads', share, of: 'groups', refit: true }),
  pruneLayers: (amount, entries) => push(entries, { step: 'prune-layers', amount, refit: true }),
  sparsity: (pattern, entries) =>
    push(entries, {
      step: 'sparsity',
      pattern,
      criterion: 'magnitude',
      blockSize: 1,
      refit: false,
    }),
  rounding: (method, entries) => push(entries, { step: 'rounding', method, blockSize: 64 }),
  ratios: (ratios, entries) => change(entries, 'ratios', ['prune-mlp'], { ratios }),
  of: (of, entries) => change(entries, 'of', ['prune-heads'], { of }),
  criterion: (criterion, entries) => change(entries, 'criterion', ['sparsity'], { criterion }),
  schedule: (_, entries) => {
    last(entries, 'schedule', ['sparsity']).rounds ??= ROUNDS;
  },
  scheduleRounds: (rounds, entries) => {
    last(entries, 'scheduleRounds', ['sparsity']).rounds = rounds;
  },
  refit: (refit, entries) => {
    const kinds = ['prune-mlp', 'prune-heads', 'prune-layers', 'sparsity'] as const;
    last(entries, 'refit', kinds).refit = refit === 'ls';
  },
  blockSize: (blockSize, entries) => {
    const { step } = last(entries, 'blockSize', ['sparsity', 'rounding']).step;
    const sizes = step === 'rounding' ? [16, 32, 64, 128] : [1, 2, 4, 8, 16];
    if (!sizes.includes(blockSize)) {
      throw new UsageError(`--block-size ${blockSize}: expected one of ${sizes.join(', ')}`);
    }
    change(entries, 'blockSize', ['sparsity', 'rounding'], { blockSize });
  },
};

/** @throws UsageError if there are none, or not in this order */
export function stepsOf(occurrences: readonly Occurrence[]): Step[] {
  const entries: Entry[] = [];
  for (const { option, value } of occurrences) {
    if (!isStep(option)) continue;
    // The value has gone through the flag's schema.
    const take = TAKE[option] as (value: unknown, entries: Entry[]) => void;
    take(value, entries);
  }
  const steps = entries.flatMap((entry) => expanded(entry));
  if (steps.length === 0) {
    throw new UsageError(
      'nothing to do: give --prune-mlp, --prune-heads, --prune-layers, --sparsity or --rounding',
    );
  }
  const rounding = steps.findIndex(({ step }) => step === 'rounding');
  if (rounding >= 0 && rounding < steps.length - 1) {
    throw new UsageError('--rounding must be the last step: what is rounded cannot be changed');
  }
  return steps;
}

function isStep(option: OptionName): option is StepName {
  return option in STEP_FLAGS;
}

function push(entries: Entry[], step: Step): void {
  entries.push({ step, rounds: null, refit: null });
}

function last(entries: readonly Entry[], option: StepName, kinds: readonly Step['step'][]): Entry {
  const entry = entries.at(-1);
  if (entry && kinds.includes(entry.step.step)) return entry;
  const flag = `--${nameOf(STEP_FLAGS[option])}`;
  throw new UsageError(`${flag} goes right after ${kinds.map((kind) => `--${kind}`).join(', ')}`);
}

function change(
  entries: readonly Entry[],
  option: StepName,
  kinds: readonly Step['step'][],
  fields: Partial<Step>,
): void {
  const entry = last(entries, option, kinds);
  // Fields of one of these kinds, or `last` has thrown.
  entry.step = { ...entry.step, ...fields } as Step;
}

function expanded({ step, rounds, refit }: Entry): Step[] {
  if (step.step === 'rounding') return [step];
  if (step.step !== 'sparsity') return [{ ...step, refit: refit ?? step.refit }];
  const { pattern } = step;
  if (pattern === '2:4' && step.blockSize > 1) {
    throw new UsageError('--sparsity 2:4 has no blocks: leave out --block-size');
  }
  if (rounds === null) return [{ ...step, refit: refit ?? false }];
  if (pattern === '2:4') throw new UsageError('--schedule needs a share, such as --sparsity 50%');
  return polynomialShares(pattern, rounds).map((share) => ({
    ...step,
    pattern: share,
    refit: refit ?? true,
  }));
}
