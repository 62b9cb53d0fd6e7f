import type { DecoderConfig } from '../huggingface/config.ts';
import { atLayer, keysOf } from '../huggingface/layer-heads.ts';
import type { KvHeads } from '../huggingface/layer-parts.ts';
import type { RecurrentConfig } from '../huggingface/recurrent-config.ts';
import type { KvLayers } from './kv-names.ts';

type Kinds = Pick<DecoderConfig, 'recurrence' | 'blocks' | 'keyLayers'>;
type Layers = Kinds & Pick<DecoderConfig, 'numLayers'>;

/** Properties of a layer that has a state, in place of attention or beside it; null if it has none. */
export function recurrenceOf(
  { recurrence }: Pick<Kinds, 'recurrence'>,
  layer: number,
): RecurrentConfig | null {
  return recurrence?.layers[layer] === true ? recurrence : null;
}

/** Whether a layer reads keys and values of the KV cache. */
export function attends(config: Pick<Kinds, 'recurrence' | 'blocks'>, layer: number): boolean {
  if (config.blocks?.[layer] === 'mlp') return false;
  const recurrence = recurrenceOf(config, layer);
  return recurrence === null || recurrence.isBesideAttention === true;
}

/** Whether a layer has keys and values of its own in the KV cache. */
export function ownsKeys(config: Kinds, layer: number): boolean {
  return attends(config, layer) && keysOf(config, layer) === layer;
}

/** Whether a layer has an MLP, or experts. */
export function hasMlp({ blocks }: Pick<Kinds, 'blocks'>, layer: number): boolean {
  return blocks?.[layer] !== 'mixer';
}

/**
 * The first of the last layers that read other layers' keys alone: of tokens whose logits nobody wants, they give
 * nothing that is read. The number of layers where there are none, or every token's hidden state is wanted.
 */
export function firstWithoutKeys(config: Layers & Pick<DecoderConfig, 'keepsRows'>): number {
  let first = config.numLayers;
  while (!config.keepsRows && first > 0 && keysOf(config, first - 1) !== first - 1) first--;
  return first;
}

/** How many layers have keys and values in the KV cache. */
export function numKvLayers(config: Layers): number {
  return kvLayer(config, config.numLayers);
}

/** Layers of the KV cache that a graph has. */
export function kvLayersOf(config: Layers & Pick<DecoderConfig, 'isLastAlone'>): KvLayers {
  const all = numKvLayers(config);
  return config.isLastAlone ? { first: all - 1, count: 1 } : { first: 0, count: all };
}

/** The place in the KV cache of what a layer reads: how many layers before have keys and values of their own. */
export function kvLayer(config: Kinds, layer: number): number {
  let before = 0;
  for (let each = 0; each < keysOf(config, layer); each++) if (ownsKeys(config, each)) before++;
  return before;
}

/**
 * Tokens that each layer with keys and values attends to, null for all before it, in the order of the KV
 * cache; undefined where none has a window.
 */
export function kvWindows(
  config: Layers & Pick<DecoderConfig, 'slidingWindows'>,
): readonly (number | null)[] | undefined {
  const windows = config.slidingWindows.filter((_, layer) => ownsKeys(config, layer));
  return windows.some((window) => window !== null) ? windows : undefined;
}

/** Heads of each layer of the KV cache; undefined where all are alike. */
export function kvHeads(config: DecoderConfig): readonly KvHeads[] | undefined {
  if (config.wholeHeads === undefined) return undefined;
  const layers = Array.from({ length: config.numLayers }, (_, layer) => layer);
  return layers
    .filter((layer) => ownsKeys(config, layer))
    .map((layer) => {
      const { numKvHeads, headDim } = atLayer(config, layer);
      return { numKvHeads, headDim };
    });
}
