import type { ElementType } from '../../onnx/data-type.ts';
import type { GraphNodes } from '../../onnx/graph-nodes.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { keysOf } from '../huggingface/layer-heads.ts';
import type { KvHeads } from '../huggingface/layer-parts.ts';
import { type KvLayers, kvNames, layerKvNames, sharedKvNames } from './kv-names.ts';
import { kvHeads, kvLayer, kvLayersOf } from './layer-kinds.ts';
import type { GroupPrefix } from './token-packing.ts';

/** A KV cache in slots: in every layer [batch, kv_heads, capacity, head_dim] of keys, and of values. */
export interface SlotCacheShape {
  readonly layers: KvLayers;
  /** Heads of a layer of the cache. */
  readonly headsOf: (cacheLayer: number) => KvHeads;
  readonly type: ElementType;
  /** Outputs of layers that read the keys and values of others, and the layers of the cache that these are. */
  readonly shared: readonly (readonly [output: string, cacheLayer: number])[];
}

/** The cache of a model. @param widthOf a position's, of heads with so many dimensions */
export function slotCache(
  config: DecoderConfig,
  type: ElementType,
  widthOf: (headDim: number) => number = (headDim) => headDim,
): SlotCacheShape {
  const heads = kvHeads(config);
  const layers = Array.from({ length: config.numLayers }, (_, layer) => layer);
  return {
    layers: kvLayersOf(config),
    headsOf: (cacheLayer) => {
      const { numKvHeads, headDim } = heads?.[cacheLayer] ?? config;
      return { numKvHeads, headDim: widthOf(headDim) };
    },
    type,
    shared: layers
      .filter((layer) => keysOf(config, layer) !== layer)
      .flatMap((layer) => {
        const cacheLayer = kvLayer(config, layer);
        return sharedKvNames(cacheLayer, layer).map((name) => [name, cacheLayer] as const);
      }),
  };
}

/** Names of a layer's outputs: the updated cache. */
export function presentNames(config: DecoderConfig, layer: number): [key: string, value: string] {
  const cacheLayer = kvLayer(config, layer);
  const isOwn = keysOf(config, layer) === layer;
  return isOwn ? layerKvNames('present', cacheLayer) : sharedKvNames(cacheLayer, layer);
}

/** Adds what every group of slots gives a decoder, see buildDecoderGraph. */
export function declareSlotInputs(
  graph: GraphNodes,
  groups: readonly GroupPrefix[],
  cache: SlotCacheShape,
): void {
  for (const group of groups) {
    graph.input(`${group}input_ids`, 'int64', [`${group}batch`, `${group}seq`]);
    graph.input(`${group}seqlens_k`, 'int32', [`${group}batch`]);
    graph.input(`${group}total_sequence_length`, 'int32', []);
    for (const [name, layer] of namesOf(cache, 'past_key_values')) {
      graph.input(`${group}${name}`, cache.type, cacheDims(group, cache, layer));
    }
  }
}

/** Adds the outputs: the updated cache. */
export function declareSlotOutputs(
  graph: GraphNodes,
  groups: readonly GroupPrefix[],
  cache: SlotCacheShape,
): void {
  for (const group of groups) {
    for (const [name, layer] of [...namesOf(cache, 'present'), ...cache.shared]) {
      graph.output(`${group}${name}`, cache.type, cacheDims(group, cache, layer));
    }
  }
}

function namesOf(
  { layers: { first, count } }: SlotCacheShape,
  prefix: 'past_key_values' | 'present',
): (readonly [name: string, cacheLayer: number])[] {
  return kvNames(prefix, count, first).map((name, index) => [name, first + (index >> 1)] as const);
}

function cacheDims(group: GroupPrefix, { headsOf }: SlotCacheShape, cacheLayer: number) {
  const { numKvHeads, headDim } = headsOf(cacheLayer);
  return [`${group}batch`, numKvHeads, 'capacity', headDim];
}
