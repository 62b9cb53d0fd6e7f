/** How many channels each layer's MLP keeps when some are pruned. */
import type { HiddenStates } from '../calibration/layerwise-decoder.ts';
import { contributions } from '../math/contributions.ts';
import { leastLossWidths } from '../math/least-loss.ts';
import { LayerWeights } from './layer-weights.ts';
import { percent, type PruneMlp, type StepContext, StepError } from './step.ts';

const GRAM = { linear: 'mlp.down', kind: 'gram' } as const;

/** Widths are multiples of this, where they are now: kernels pad rows to it. */
const MOST_ALIGNED = 64;
/** But not so coarse that there are fewer widths than these to choose from, */
const LEAST_WIDTHS = 16;
/** unless the integers of a word would be of two rows. */
const LEAST_ALIGNED = 8;

/** By layer. @throws {StepError} if nothing or all would be pruned */
export async function prunedWidths(
  context: StepContext,
  { share, ratios }: PruneMlp,
): Promise<readonly number[]> {
  const { intermediateSizes, family } = context.source.config;
  const equal = intermediateSizes.map((width) => prunedWidth(width, share));
  if (ratios === 'uniform') return equal;
  if (family.tensors.layer.mlpOutputNorm !== null) {
    throw new StepError(
      `${family.modelType} normalizes the output of its MLPs, so --ratios sensitivity cannot compare layers`,
    );
  }
  const unit = Math.min(...intermediateSizes.map((width) => alignmentOf(width)));
  const kept = equal.reduce((sum, width) => sum + width, 0);
  return leastLossWidths(await losses(context), unit, kept);
}

/** The field of config.json that has the widths. */
export function widthField(json: Readonly<Record<string, unknown>>): string {
  // Where there are several names, another one is of experts.
  const names = ['shared_intermediate_size', 'intermediate_size_mlp'];
  return names.find((name) => json[name] !== undefined) ?? 'intermediate_size';
}

/** Value of that field: one number, where all layers have the same width. */
export function widthValue(widths: readonly number[]): number | readonly number[] {
  const [first = 0] = widths;
  return widths.every((width) => width === first) ? first : widths;
}

/** @throws {StepError} if nothing or all would be pruned */
export function prunedWidth(width: number, share: number): number {
  const unit = alignmentOf(width);
  const kept = unit * Math.round((width * (1 - share)) / unit);
  if (kept > 0 && kept < width) return kept;
  throw new StepError(
    `${percent(share)} of ${width} channels, in steps of ${unit}, is ${width - kept}: ` +
      'some must be removed and some kept',
  );
}

/** A power of two. */
function alignmentOf(width: number): number {
  let unit = 1;
  const coarsest = Math.min(MOST_ALIGNED, Math.max(LEAST_ALIGNED, width / LEAST_WIDTHS));
  while (2 * unit <= coarsest && width % (2 * unit) === 0) unit *= 2;
  return unit;
}

/** By layer and channel, what it adds to the hidden state, as a share of what that is. */
async function losses({ source, texts, decoder, onProgress }: StepContext) {
  const { numLayers, hiddenSize } = source.config;
  const original = decoder(source);
  const found: Float64Array[] = [];
  let hidden = await original.embed(texts);
  for (let layer = 0; layer < numLayers; layer++) {
    onProgress(layer, numLayers);
    const { hidden: next, statistics } = await original.layer(layer, hidden, [GRAM]);
    const weights = new LayerWeights(source, layer);
    const down = await weights.get(`${weights.names.down}.weight`);
    const energy = typicalEnergy(next, hiddenSize);
    found.push(contributions(down, statistics.of(GRAM), 1).map((added) => added / energy));
    hidden = next;
  }
  return found;
}

/**
 * The geometric mean of tokens' squared norms: a few tokens, the first of a text above all, have hidden
 * states a thousand times as large as all others.
 */
export function typicalEnergy(hidden: HiddenStates, width: number): number {
  let logs = 0;
  let tokens = 0;
  for (const text of hidden) {
    for (let start = 0; start < text.length; start += width) {
      let squares = 0;
      for (let i = start; i < start + width; i++) squares += (text[i] ?? 0) ** 2;
      logs += Math.log(squares || Number.MIN_VALUE);
      tokens++;
    }
  }
  return Math.exp(logs / tokens);
}
