/** Variants of a model: steps of `chairlift optimize`, and the precision that the result is served in. */
import type { Precision } from '../../../src/model/manifest.ts';
import { polynomialShares } from '../../../src/optimize/steps/schedule.ts';
import type { PruneMlp, Rounding, Sparsity, Step } from '../../../src/optimize/steps/step.ts';

export interface OptimizeVariant {
  readonly name: string;
  readonly steps: readonly Step[];
  readonly precision: Precision;
}

const mlp = (share: number, refit: boolean, ratios: PruneMlp['ratios'] = 'uniform'): Step => ({
  step: 'prune-mlp',
  share,
  ratios,
  refit,
});
const layers = (refit: boolean): Step => ({
  step: 'prune-layers',
  amount: { kind: 'share', share: 0.25 },
  refit,
});
const heads = (refit: boolean): Step => ({ step: 'prune-heads', share: 0.5, of: 'groups', refit });
const sparse = (more: Partial<Sparsity>): Step => ({
  step: 'sparsity',
  pattern: 0.5,
  criterion: 'magnitude',
  blockSize: 1,
  refit: false,
  ...more,
});
const rounded = (method: Rounding['method'], blockSize = 64): Step => ({
  step: 'rounding',
  method,
  blockSize,
});
const fp32 = (name: string, ...steps: Step[]): OptimizeVariant => ({
  name,
  steps,
  precision: 'fp32',
});
const int4 = (name: string, ...steps: Step[]): OptimizeVariant => ({
  name: `${name}:int4`,
  steps,
  precision: 'int4',
});

/** Variants that docs/benchmarks.md has. */
export const VARIANTS: readonly OptimizeVariant[] = [
  ...(['fp32', 'fp16', 'int8', 'int8-static', 'int4'] as const).map((precision) => ({
    name: `as it is:${precision}`,
    steps: [],
    precision,
  })),
  int4('gptq', rounded('gptq')),
  int4('awq', rounded('awq')),
  ...[20, 30, 50].flatMap((percent) => [
    fp32(`mlp ${percent} %`, mlp(percent / 100, true)),
    fp32(`mlp ${percent} %, no re-fit`, mlp(percent / 100, false)),
  ]),
  fp32('mlp 30 % by sensitivity', mlp(0.3, true, 'sensitivity')),
  fp32('layers 25 %', layers(true)),
  fp32('layers 25 %, no re-fit', layers(false)),
  fp32('heads 50 %', heads(true)),
  fp32('50 % zeros, magnitude', sparse({})),
  fp32(
    '50 % zeros, wanda, polynomial',
    ...polynomialShares(0.5, 4).map((pattern) =>
      sparse({ pattern, criterion: 'wanda', refit: true }),
    ),
  ),
];

/** Others, for who asks for them by name. */
export const MORE_VARIANTS: readonly OptimizeVariant[] = [
  fp32('mlp 50 % by sensitivity', mlp(0.5, true, 'sensitivity')),
  fp32('heads 50 %, no re-fit', heads(false)),
  fp32('50 % zeros, wanda', sparse({ criterion: 'wanda' })),
  fp32('50 % zeros, wanda, re-fit', sparse({ criterion: 'wanda', refit: true })),
  fp32('90 % zeros, wanda, re-fit', sparse({ pattern: 0.9, criterion: 'wanda', refit: true })),
  fp32('2:4 zeros, wanda, re-fit', sparse({ pattern: '2:4', criterion: 'wanda', refit: true })),
  fp32('50 % zeros, blocks of 2 x 2', sparse({ blockSize: 2 })),
  int4('nearest', rounded('nearest')),
  int4('nearest, blocks of 128', rounded('nearest', 128)),
  int4('gptq, blocks of 128', rounded('gptq', 128)),
  int4('mlp 20 % + gptq', mlp(0.2, true), rounded('gptq')),
];
