import type { DecoderConfig } from '../huggingface/config.ts';
import type { RecurrentConfig } from '../huggingface/recurrent-config.ts';

type Kinds = Pick<DecoderConfig, 'recurrence' | 'blocks'>;
type Layers = Kinds & Pick<DecoderConfig, 'numLayers'>;

/** Properties of a layer that has a state, in place of attention or beside it; null if it has none. */
export function recurrenceOf(
  { recurrence }: Pick<Kinds, 'recurrence'>,
  layer: number,
): RecurrentConfig | null {
  return recurrence?.layers[layer] === true ? recurrence : null;
}

/** Whether a layer has keys and values in the KV cache. */
export function attends(config: Kinds, layer: number): boolean {
  if (config.blocks?.[layer] === 'mlp') return false;
  const recurrence = recurrenceOf(config, layer);
  return recurrence === null || recurrence.isBesideAttention === true;
}

/** Whether a layer has an MLP, or experts. */
export function hasMlp({ blocks }: Pick<Kinds, 'blocks'>, layer: number): boolean {
  return blocks?.[layer] !== 'mixer';
}

/** How many layers have keys and values in the KV cache. */
export function numKvLayers(config: Layers): number {
  return kvLayer(config, config.numLayers);
}

/** Layers of the KV cache that a graph has. */
export function kvLayersOf(config: Layers & Pick<DecoderConfig, 'isLastAlone'>): {
  readonly firstLayer: number;
  readonly numLayers: number;
} {
  const all = numKvLayers(config);
  return config.isLastAlone
    ? { firstLayer: all - 1, numLayers: 1 }
    : { firstLayer: 0, numLayers: all };
}

/** The place of a layer that attends in the KV cache: how many before it do. */
export function kvLayer(config: Kinds, layer: number): number {
  let before = 0;
  for (let each = 0; each < layer; each++) if (attends(config, each)) before++;
  return before;
}

/**
 * Tokens that each layer with keys and values attends to, null for all before it, in the order of the KV
 * cache; undefined where none has a window.
 */
export function kvWindows(
  config: Layers & Pick<DecoderConfig, 'slidingWindows'>,
): readonly (number | null)[] | undefined {
  const windows = config.slidingWindows.filter((_, layer) => attends(config, layer));
  return windows.some((window) => window !== null) ? windows : undefined;
}
