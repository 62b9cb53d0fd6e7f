import { parseDecoderConfig, type DecoderConfig } from '../../model/huggingface/config.ts';
import { layerTensorNames } from '../../model/families/family.ts';
import type { HiddenStates } from '../calibration/layerwise-decoder.ts';
import { openLayer } from '../folder/checkpoint.ts';
import { layerTensors } from '../folder/model-tensors.ts';
import { storedFloats } from '../folder/safetensors-file.ts';
import { copyOf } from '../folder/step-folder.ts';
import { largest } from '../math/contributions.ts';
import { refitTo } from '../math/refit.ts';
import { LayerWeights } from './layer-weights.ts';
import { widthField, widthValue } from './mlp-widths.ts';
import { percent, type PruneLayers, type StepContext, StepError } from './step.ts';

const GRAM = { linear: 'mlp.down', kind: 'gram' } as const;
const ERROR = { linear: 'mlp.down', kind: 'error' } as const;

/**
 * Removes the layers that change the hidden state least, by its angle (block influence, Men et al.:
 * "ShortGPT", 2024), but never the first. The layer before each gap is re-fitted: its down projection
 * becomes the one that brings the hidden state nearest, by least squares, to what it was after the gap.
 * That contains ReplaceMe's linear map, merged (Shopkhoev et al., NeurIPS 2025).
 */
export async function pruneLayers(
  context: StepContext,
  { amount, refit }: PruneLayers,
): Promise<void> {
  const { source } = context;
  const { config } = source;
  // Behind another norm the hidden state is no linear function of the projection.
  const isLinear = config.family.tensors.layer.mlpOutputNorm === null;
  const influence = amount.kind === 'layers' ? null : await influences(context);
  const removed = influence ? leastOf(influence, amount) : namedLayers(amount, config);
  const kept = Array.from({ length: config.numLayers }, (_, layer) => layer).filter(
    (layer) => !removed.includes(layer),
  );
  const json = { ...source.json, ...fieldsOf(source.json, config, kept) };
  const after = parseDecoderConfig(json, 'the configuration');
  const isRefitted = refit && isLinear;
  await writeKept(context, after, kept, isRefitted);
  const facts = {
    removed,
    refitted: isRefitted ? kept.filter((layer) => removed.includes(layer + 1)) : [],
    ...(influence && { influence: Array.from(influence, (value) => Number(value.toPrecision(4))) }),
  };
  await context.folder.finish(source, { json, config: after, facts });
}

/** By layer, 1 minus the mean cosine of the hidden state before and after it. */
async function influences(context: StepContext): Promise<Float64Array> {
  const { source, texts, onProgress } = context;
  const { numLayers, hiddenSize } = source.config;
  const decoder = context.decoder(source);
  const found = new Float64Array(numLayers);
  let hidden = await decoder.embed(texts);
  for (let layer = 0; layer < numLayers; layer++) {
    onProgress(layer, 2 * numLayers);
    const { hidden: next } = await decoder.layer(layer, hidden);
    found[layer] = 1 - meanCosine(hidden, next, hiddenSize);
    hidden = next;
  }
  return found;
}

export function meanCosine(before: HiddenStates, after: HiddenStates, width: number): number {
  let sum = 0;
  let tokens = 0;
  for (const [text, a] of before.entries()) {
    const b = after[text] ?? a;
    for (let start = 0; start < a.length; start += width) {
      let [product, aa, bb] = [0, 0, 0];
      for (let i = start; i < start + width; i++) {
        const [x, y] = [a[i] ?? 0, b[i] ?? 0];
        product += x * y;
        aa += x * x;
        bb += y * y;
      }
      sum += product / Math.sqrt(aa * bb || 1);
      tokens++;
    }
  }
  return sum / tokens;
}

type Chosen = Exclude<PruneLayers['amount'], { readonly kind: 'layers' }>;

function leastOf(influence: Float64Array, amount: PruneLayers['amount']): number[] {
  const count = countOf(influence.length, amount as Chosen);
  // Nothing is before the first layer that could make up for it.
  const others = influence.slice(1).map((value) => -value);
  return largest(others, count).map((index) => index + 1);
}

function countOf(numLayers: number, amount: Chosen): number {
  const count = amount.kind === 'count' ? amount.count : Math.round(numLayers * amount.share);
  if (count > 0 && count < numLayers) return count;
  const what = amount.kind === 'count' ? `${count}` : percent(amount.share);
  throw new StepError(
    `${what} of ${numLayers} layers is ${count}: some must be removed and some kept`,
  );
}

function namedLayers(amount: PruneLayers['amount'], { numLayers }: DecoderConfig): number[] {
  const layers = amount.kind === 'layers' ? [...new Set(amount.layers)].sort((a, b) => a - b) : [];
  const unknown = layers.find((layer) => layer >= numLayers);
  if (unknown !== undefined) {
    throw new StepError(`there is no layer ${unknown}: this model has 0 to ${numLayers - 1}`);
  }
  if (layers.includes(0)) throw new StepError('layer 0 cannot be removed: nothing is before it');
  return layers;
}

/** Fields of config.json: those that say something of each layer say it of those that are kept. */
function fieldsOf(
  json: Readonly<Record<string, unknown>>,
  { slidingWindows, rotatedLayers, intermediateSizes }: DecoderConfig,
  kept: readonly number[],
): Record<string, unknown> {
  const of = <T>(values: readonly T[]) => values.filter((_, layer) => kept.includes(layer));
  const types = json['layer_types'];
  const hasWindows = slidingWindows.some((window) => window !== null);
  const windowTypes = slidingWindows.map((window) =>
    window === null ? 'full_attention' : 'sliding_attention',
  );
  const isMixed = rotatedLayers.includes(true) && rotatedLayers.includes(false);
  return {
    num_hidden_layers: kept.length,
    [widthField(json)]: widthValue(of(intermediateSizes)),
    ...(Array.isArray(types) && { layer_types: of<unknown>(types) }),
    ...(!Array.isArray(types) && hasWindows && { layer_types: of(windowTypes) }),
    ...(isMixed && { no_rope_layers: of(rotatedLayers).map(Number) }),
  };
}

/** Writes the layers that are kept under their new numbers, and re-fits those before a gap. */
async function writeKept(
  { source, texts, folder, decoder, onProgress }: StepContext,
  after: DecoderConfig,
  kept: readonly number[],
  refit: boolean,
): Promise<void> {
  const { config } = source;
  const original = decoder(source);
  // Hidden states of the original model, and of the shorter one.
  let wanted = refit ? await original.embed(texts) : [];
  let hidden = wanted;
  for (const [place, layer] of kept.entries()) {
    onProgress(config.numLayers + layer, 2 * config.numLayers);
    const next = kept[place + 1] ?? config.numLayers;
    const hasGap = next > layer + 1;
    if (refit) {
      for (let each = layer; each < next; each++) {
        wanted = (await original.layer(each, wanted)).hidden;
      }
    }
    if (!(await folder.hasLayer(place))) {
      const changed = new Map<string, Float32Array>();
      if (refit && hasGap) {
        const name = `${layerTensorNames(config.family, layer).down}.weight`;
        const { statistics } = await original.layer(layer, hidden, [GRAM, ERROR], wanted);
        const weights = await new LayerWeights(source, layer).get(name);
        changed.set(name, refitTo(weights, statistics.of(GRAM), statistics.of(ERROR)));
      }
      const renamed = layerTensors(after, place).map(({ name }) => name);
      const tensors = layerTensors(config, layer).map(({ name, shape }, index) => {
        const values = changed.get(name);
        const copy = copyOf(source, name, shape);
        const load = values && (async () => storedFloats(copy.dtype as 'F32', shape, values).bytes);
        return { ...copy, name: renamed[index] ?? name, ...(load && { load }) };
      });
      await folder.writeLayer(place, tensors);
    }
    if (!refit) continue;
    const weights = await openLayer(folder.layerPath(place), after);
    try {
      ({ hidden } = await decoder({ config: after, weights }).layer(place, hidden));
    } finally {
      await weights.close();
    }
  }
  onProgress(2 * config.numLayers, 2 * config.numLayers);
}
