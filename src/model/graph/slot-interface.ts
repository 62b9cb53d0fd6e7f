import type { ElementType } from '../../onnx/data-type.ts';
import type { GraphNodes } from '../../onnx/graph-nodes.ts';
import { kvNames } from './kv-names.ts';
import type { GroupPrefix } from './token-packing.ts';

/** A KV cache in slots: in every layer [batch, kv_heads, capacity, head_dim] of keys, and of values. */
export interface SlotCacheShape {
  /** Layers before those of the graph; none if left out. */
  readonly firstLayer?: number | undefined;
  readonly numLayers: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly type: ElementType;
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
    for (const name of kvNames('past_key_values', cache.numLayers, cache.firstLayer)) {
      graph.input(`${group}${name}`, cache.type, cacheDims(group, cache));
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
    for (const name of kvNames('present', cache.numLayers, cache.firstLayer)) {
      graph.output(`${group}${name}`, cache.type, cacheDims(group, cache));
    }
  }
}

function cacheDims(group: GroupPrefix, { numKvHeads, headDim }: SlotCacheShape) {
  return [`${group}batch`, numKvHeads, 'capacity', headDim];
}
