import type { DecoderConfig } from '../huggingface/config.ts';
import type { RecurrentConfig } from '../huggingface/recurrent-config.ts';

type Layers = Pick<DecoderConfig, 'numLayers' | 'recurrence'>;

/** Properties of a layer that has a state in place of attention; null if it attends. */
export function recurrenceOf(
  { recurrence }: Pick<Layers, 'recurrence'>,
  layer: number,
): RecurrentConfig | null {
  return recurrence?.layers[layer] === true ? recurrence : null;
}

/** How many layers have keys and values in the KV cache: those that attend. */
export function numKvLayers(config: Layers): number {
  return kvLayer(config, config.numLayers);
}

/** The place of a layer that attends in the KV cache: how many before it do. */
export function kvLayer({ recurrence }: Pick<Layers, 'recurrence'>, layer: number): number {
  if (recurrence === undefined) return layer;
  return recurrence.layers.slice(0, layer).filter((isRecurrent) => !isRecurrent).length;
}
