import { layerMatrices } from '../../model/graph/layer-matrices.ts';
import type { DecoderConfig } from '../../model/huggingface/config.ts';
import type { WeightSource } from '../../model/huggingface/weights.ts';
import { smoothLayer } from '../../model/static/smooth-layer.ts';
import {
  smoothedWeights,
  type TensorFactor,
  type TensorFactors,
} from '../../model/static/smoothed-weights.ts';
import type { StaticActivations } from '../../model/static/static-activations.ts';
import type { LayerwiseDecoder, Statistics } from './layerwise-decoder.ts';
import type { LinearName, Statistic } from './text-graphs.ts';

const LINEARS = [
  'attention.qkv',
  'attention.output',
  'mlp.gate_up',
  'mlp.down',
] as const satisfies readonly LinearName[];

const LARGEST = 127;
/** Shares of the largest input that the largest integer can stand for: what is larger is cut off. */
const SHARES = [1, 0.85, 0.7, 0.55];

/**
 * How much of a linear layer's output may be lost by a constant scale of its inputs, as the root of the
 * mean square over tokens.
 */
export const MOST_LOST = 0.05;

/**
 * Errors of a linear layer's output when its inputs are rounded: the root of the mean square over
 * tokens.
 */
export interface StaticLoss {
  /** Such as `layers.3.mlp.down`. */
  readonly name: string;
  /** With the best constant scale. */
  readonly constant: number;
  /** With a scale for each token. */
  readonly byToken: number;
}

/** Calibrated activations, with the losses by layer. */
export interface FoundActivations extends StaticActivations {
  readonly losses: readonly StaticLoss[];
}

/**
 * Finds constant scales for the inputs of a model's linear layers, layer by layer: first how large each
 * channel gets, which smooths the layer; then, of the smoothed layer, the step that loses least. Where even
 * that loses more than `MOST_LOST` there is none.
 * @param decoderOf computes a model with these weights layer by layer
 */
export async function findStaticActivations(
  { config, weights }: { readonly config: DecoderConfig; readonly weights: WeightSource },
  texts: readonly Int32Array[],
  decoderOf: (weights: WeightSource) => LayerwiseDecoder,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<FoundActivations> {
  const factors = new Map<string, TensorFactor>();
  const steps = new Map<string, number>();
  const losses: StaticLoss[] = [];
  const numTokens = texts.reduce((sum, text) => sum + text.length, 0);
  const plain = decoderOf(weights);
  let hidden = await plain.embed(texts);
  for (let layer = 0; layer < config.numLayers; layer++) {
    onProgress(layer, config.numLayers);
    const nameOf = (linear: LinearName) => `layers.${layer}.${linear}`;
    const { statistics: seen } = await plain.layer(layer, hidden, LINEARS.map(reachOf));
    const reaches = new Map(
      LINEARS.map((linear) => [nameOf(linear), Float32Array.from(seen.of(reachOf(linear)))]),
    );
    const reachesOf = (name: string) => reaches.get(name) ?? new Float32Array();
    const ofLayer = await smoothLayer(config, weights, layer, reachesOf);
    for (const [name, factor] of ofLayer) factors.set(name, factor);

    const candidates = new Map(
      LINEARS.map((linear) => {
        const columns = columnsOf(config, layer, nameOf(linear), ofLayer);
        return [linear, stepsFor(smoothedReach(reachesOf(nameOf(linear)), columns))];
      }),
    );
    const watched = Array.from(candidates, ([linear, tried]) => [
      roundingOf(linear),
      ...tried.map((step) => roundingOf(linear, step)),
    ]).flat();
    const smoothed = decoderOf(smoothedWeights(weights, ofLayer));
    const { statistics, hidden: after } = await smoothed.layer(layer, hidden, watched);
    for (const [linear, tried] of candidates) {
      const best = leastLoss(statistics, linear, tried, numTokens);
      if (best.loss <= MOST_LOST) steps.set(nameOf(linear), best.step);
      const byToken = lossOf(statistics, roundingOf(linear), numTokens);
      losses.push({ name: nameOf(linear), constant: best.loss, byToken });
    }
    hidden = after;
  }
  onProgress(config.numLayers, config.numLayers);
  return { factors, steps, losses };
}

const reachOf = (linear: LinearName): Statistic => ({ linear, kind: 'reach' });

function roundingOf(linear: LinearName, step?: number): Statistic {
  return { linear, kind: 'rounding', ...(step !== undefined && { step }) };
}

/** Factors that a linear layer's columns are multiplied by, and its inputs divided by. */
function columnsOf(
  config: DecoderConfig,
  layer: number,
  name: string,
  factors: TensorFactors,
): Float32Array | undefined {
  const source = layerMatrices(config, layer).find((each) => each.name === name);
  return factors.get(source?.tensors[0]?.name ?? '')?.columns;
}

function smoothedReach(reaches: Float32Array, columns: Float32Array | undefined): number {
  return reaches.reduce((most, reach, i) => Math.max(most, reach / (columns?.[i] ?? 1)), 0);
}

/** None for inputs that are always 0. */
function stepsFor(reach: number): number[] {
  return reach > 0 ? SHARES.map((share) => Math.fround((share * reach) / LARGEST)) : [];
}

function leastLoss(
  statistics: Statistics,
  linear: LinearName,
  tried: readonly number[],
  numTokens: number,
): { readonly step: number; readonly loss: number } {
  return tried
    .map((step) => ({ step, loss: lossOf(statistics, roundingOf(linear, step), numTokens) }))
    .reduce((a, b) => (b.loss < a.loss ? b : a), { step: 0, loss: Infinity });
}

function lossOf(statistics: Statistics, statistic: Statistic, numTokens: number): number {
  const [sum = NaN] = statistics.of(statistic);
  return Math.sqrt(sum / numTokens);
}
