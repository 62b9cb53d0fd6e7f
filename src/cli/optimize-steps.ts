/** The flags of `chairlift optimize` that say what is done: in the order in which they are given. */
import { type Command, Option } from 'commander';
import { polynomialShares } from '../optimize/steps/schedule.ts';
import type { Amount, PruneLayers, Step } from '../optimize/steps/step.ts';
import { UsageError } from './usage-error.ts';

/** Rounds of a schedule, if nobody says. */
const ROUNDS = 4;

/** A step, and how often it is taken. */
interface Entry {
  step: Step;
  rounds: number | null;
  /** Whether a re-fit was asked for or declined. */
  refit: boolean | null;
}

/** Collects steps while flags are parsed. A flag that changes a step changes the one before it. */
export class StepFlags {
  readonly #entries: Entry[] = [];

  addTo(command: Command): Command {
    const add = (flags: string, description: string, take: (text: string) => void) =>
      command.addOption(new Option(flags, description).argParser((text) => (take(text), text)));
    add('--prune-mlp <share>', 'remove channels of the MLPs, such as 30%', (text) =>
      this.#push({
        step: 'prune-mlp',
        share: shareOf('--prune-mlp', text),
        ratios: 'uniform',
        refit: true,
      }),
    );
    add('--prune-heads <share>', 'remove heads, with their keys and values, such as 50%', (text) =>
      this.#push({
        step: 'prune-heads',
        share: shareOf('--prune-heads', text),
        of: 'groups',
        refit: true,
      }),
    );
    add('--prune-layers <n>', 'remove layers: 25%, 2, or at:3,4 for these', (text) =>
      this.#push({ step: 'prune-layers', amount: layersOf(text), refit: true }),
    );
    add('--sparsity <share>', 'set weights to 0: 50%, or 2:4', (text) =>
      this.#push({
        step: 'sparsity',
        pattern: text === '2:4' ? text : shareOf('--sparsity', text),
        criterion: 'magnitude',
        blockSize: 1,
        refit: false,
      }),
    );
    add('--rounding <method>', 'round to 4 bits: nearest, gptq or awq', (text) =>
      this.#push({
        step: 'rounding',
        method: oneOf('--rounding', text, ['nearest', 'gptq', 'awq']),
        blockSize: 64,
      }),
    );
    add(
      '--ratios <how>',
      'of the MLPs: uniform (default), or sensitivity, which prunes layers more where that costs less; only Chairlift reads the folder',
      (text) =>
        this.#change('--ratios', ['prune-mlp'], (step) => ({
          ...step,
          ratios: oneOf('--ratios', text, ['uniform', 'sensitivity']),
        })),
    );
    add('--of <what>', 'of the heads: groups (default), or queries of each group', (text) =>
      this.#change('--of', ['prune-heads'], (step) => ({
        ...step,
        of: oneOf('--of', text, ['groups', 'queries']),
      })),
    );
    add('--criterion <name>', 'of the sparsity: magnitude (default) or wanda', (text) =>
      this.#change('--criterion', ['sparsity'], (step) => ({
        ...step,
        criterion: oneOf('--criterion', text, ['magnitude', 'wanda']),
      })),
    );
    add(
      '--block-size <n>',
      'of the sparsity: squares of n x n weights (default 1); of the rounding: weights with one scale (16, 32, 64 or 128; default 64)',
      (text) => this.#setBlockSize(text),
    );
    add('--schedule <name>', `of the sparsity: polynomial, in ${ROUNDS} rounds`, (text) => {
      oneOf('--schedule', text, ['polynomial']);
      this.#last('--schedule', ['sparsity']).rounds ??= ROUNDS;
    });
    add('--rounds <n>', 'of the schedule', (text) => {
      const rounds = Number(text);
      if (!Number.isInteger(rounds) || rounds < 2 || rounds > 100) {
        throw new UsageError(`--rounds ${text}: expected 2 to 100`);
      }
      this.#last('--rounds', ['sparsity']).rounds = rounds;
    });
    add(
      '--refit <how>',
      'whether weights that stay make up for others: ls (least squares; default, but for sparsity without a schedule) or none',
      (text) => {
        const steps = ['prune-mlp', 'prune-heads', 'prune-layers', 'sparsity'] as const;
        this.#last('--refit', steps).refit = oneOf('--refit', text, ['ls', 'none']) === 'ls';
      },
    );
    return command;
  }

  /** @throws UsageError if there are none, or not in this order */
  steps(): Step[] {
    const steps = this.#entries.flatMap((entry) => expanded(entry));
    if (steps.length === 0) {
      throw new UsageError(
        'nothing to do: give --prune-mlp, --prune-heads, --prune-layers, --sparsity or --rounding',
      );
    }
    const rounding = steps.findIndex(({ step }) => step === 'rounding');
    if (rounding >= 0 && rounding < steps.length - 1) {
      throw new UsageError('--rounding must be the last step: what is rounded can not be changed');
    }
    return steps;
  }

  #push(step: Step): void {
    this.#entries.push({ step, rounds: null, refit: null });
  }

  #last(flag: string, kinds: readonly Step['step'][]): Entry {
    const entry = this.#entries.at(-1);
    if (entry && kinds.includes(entry.step.step)) return entry;
    throw new UsageError(`${flag} goes right after ${kinds.map((kind) => `--${kind}`).join(', ')}`);
  }

  #change<K extends Step['step']>(
    flag: string,
    kinds: readonly K[],
    change: (step: Extract<Step, { step: K }>) => Step,
  ): void {
    const entry = this.#last(flag, kinds);
    // Of one of these kinds, or #last has thrown.
    entry.step = change(entry.step as Extract<Step, { step: K }>);
  }

  #setBlockSize(text: string): void {
    const blockSize = Number(text);
    this.#change('--block-size', ['sparsity', 'rounding'], (step) => {
      const sizes = step.step === 'rounding' ? [16, 32, 64, 128] : [1, 2, 4, 8, 16];
      if (!sizes.includes(blockSize)) {
        throw new UsageError(`--block-size ${text}: expected one of ${sizes.join(', ')}`);
      }
      return { ...step, blockSize };
    });
  }
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

function shareOf(flag: string, text: string): number {
  const share = /^\d+(\.\d+)?%$/.test(text) ? Number.parseFloat(text) / 100 : Number.NaN;
  if (share > 0 && share < 1) return share;
  throw new UsageError(`${flag} ${text}: expected more than 0% and less than 100%`);
}

function layersOf(text: string): PruneLayers['amount'] {
  if (text.startsWith('at:')) {
    const layers = text.slice('at:'.length).split(',').map(Number);
    if (layers.every((layer) => Number.isInteger(layer) && layer >= 0)) {
      return { kind: 'layers', layers };
    }
    throw new UsageError(`--prune-layers ${text}: expected numbers of layers, such as at:3,4`);
  }
  const amount: Amount = /^[1-9]\d*$/.test(text)
    ? { kind: 'count', count: Number(text) }
    : { kind: 'share', share: shareOf('--prune-layers', text) };
  return amount;
}

function oneOf<T extends string>(flag: string, text: string, names: readonly T[]): T {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw new UsageError(`${flag} ${text}: expected ${names.join(' or ')}`);
}
