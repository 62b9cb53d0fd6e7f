import { layerTensorNames, ofLayer } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { smoothedWeights, type TensorFactor } from '../static/smoothed-weights.ts';

/**
 * A checkpoint's weights, of which some are multiplied by the model's own factors: no graph has these. As they
 * are in models without any.
 */
export function multipliedWeights(config: DecoderConfig, weights: WeightSource): WeightSource {
  const { multipliers, family, recurrence, numLayers, numHeads, numKvHeads, headDim } = config;
  if (multipliers === undefined) return weights;
  const factors = new Map<string, TensorFactor>();
  const rows = (count: number, factor: number) => new Float32Array(count).fill(factor);
  const add = (name: string | undefined, values: Float32Array) => {
    if (name === undefined) return;
    for (const kind of ['weight', 'bias']) factors.set(`${name}.${kind}`, { rows: values });
  };
  for (let layer = 0; layer < numLayers; layer++) {
    const { queryKeyValue, attentionOutput, gateUp, down } = layerTensorNames(family, layer);
    const [query, key, value] = queryKeyValue;
    const width = config.intermediateSizes[layer] ?? 0;
    add(query, rows(numHeads * headDim, multipliers.queriesAndValues));
    add(key, rows(numKvHeads * headDim, multipliers.keys));
    add(value, rows(numKvHeads * headDim, multipliers.queriesAndValues));
    add(attentionOutput, rows(config.hiddenSize, multipliers.attentionOutput));
    add(gateUp[0], rows(width, multipliers.gates));
    add(down, rows(config.hiddenSize, multipliers.down));
    const { recurrence: rules } = family;
    if (rules?.kind !== 'selective scan' || recurrence === undefined) continue;
    const { input, output } = rules.tensors;
    if (multipliers.scanInput) add(ofLayer(family, layer, input), multipliers.scanInput);
    add(ofLayer(family, layer, output), rows(config.hiddenSize, multipliers.scanOutput));
  }
  return smoothedWeights(weights, factors);
}
