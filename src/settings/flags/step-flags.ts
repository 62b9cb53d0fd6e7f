/** The flags of `optimize` that say what is done: in the order in which they are given. */
import type { Amount, PruneLayers } from '../../optimize/steps/step.ts';
import type { FlagSpec } from './flag-spec.ts';
import { count, oneOf, readable } from './values.ts';

const SHARE = 'more than 0% and less than 100%';

function shareOf(given: string): number | undefined {
  const value = /^\d+(\.\d+)?%$/.test(given) ? Number.parseFloat(given) / 100 : Number.NaN;
  return value > 0 && value < 1 ? value : undefined;
}

const share = readable(SHARE, shareOf);

const layers = readable(
  'a share such as 25%, a number of layers, or numbers of layers such as at:3,4',
  (given): PruneLayers['amount'] | undefined => {
    const [, list] = /^at:(\d+(?:,\d+)*)$/.exec(given) ?? [];
    if (list !== undefined) return { kind: 'layers', layers: list.split(',').map(Number) };
    const part = shareOf(given);
    const amount: Amount | undefined =
      part === undefined ? undefined : { kind: 'share', share: part };
    return /^[1-9]\d*$/.test(given) ? { kind: 'count', count: Number(given) } : amount;
  },
);

const pattern = readable(`2:4, or ${SHARE}`, (given) =>
  given === '2:4' ? ('2:4' as const) : shareOf(given),
);

/** In the order in which the environment's are taken: each change right after what it changes. */
export const STEP_FLAGS = {
  pruneMlp: {
    flags: '--prune-mlp <share>',
    description: 'remove channels of the MLPs, such as 30%',
    schema: share.optional(),
  },
  ratios: {
    flags: '--ratios <how>',
    description: 'of the MLPs: uniform, or sensitivity (docs/optimize.md)',
    schema: oneOf(['uniform', 'sensitivity']).optional(),
    defaultText: 'uniform',
  },
  pruneHeads: {
    flags: '--prune-heads <share>',
    description: 'remove heads, with their keys and values, such as 50%',
    schema: share.optional(),
  },
  of: {
    flags: '--of <what>',
    description: 'of the heads: groups, or queries of each group',
    schema: oneOf(['groups', 'queries']).optional(),
    defaultText: 'groups',
  },
  pruneLayers: {
    flags: '--prune-layers <n>',
    description: 'remove layers: 25%, 2, or at:3,4 for these',
    schema: layers.optional(),
  },
  sparsity: {
    flags: '--sparsity <share>',
    description: 'set weights to 0: 50%, or 2:4',
    schema: pattern.optional(),
  },
  criterion: {
    flags: '--criterion <name>',
    description: 'of the sparsity: magnitude or wanda',
    schema: oneOf(['magnitude', 'wanda']).optional(),
    defaultText: 'magnitude',
  },
  schedule: {
    flags: '--schedule <name>',
    description: 'of the sparsity: polynomial, in --rounds',
    schema: oneOf(['polynomial']).optional(),
    defaultText: 'none',
  },
  scheduleRounds: {
    flags: '--rounds <n>',
    description: 'of the schedule',
    schema: count(2, 100).optional(),
    scope: 'optimize',
    defaultText: '4',
  },
  refit: {
    flags: '--refit <how>',
    description: 'make up for what goes: ls (least squares) or none',
    schema: oneOf(['ls', 'none']).optional(),
    defaultText: 'ls',
  },
  rounding: {
    flags: '--rounding <method>',
    description: 'round to 4 bits: nearest, gptq or awq',
    schema: oneOf(['nearest', 'gptq', 'awq']).optional(),
  },
  blockSize: {
    flags: '--block-size <n>',
    description: 'of the sparsity: squares (1); of the rounding: weights per scale (64)',
    schema: count(1, 128).optional(),
  },
} satisfies Record<string, FlagSpec>;
