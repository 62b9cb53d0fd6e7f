import type { AttributeValue } from '../../onnx/attributes.ts';
import type { GraphNodes } from '../../onnx/graph-nodes.ts';
import type { KvHeads } from '../huggingface/layer-parts.ts';

/**
 * The scales of an int8 KV cache in one layer, for every channel of every head: [kv_heads,
 * head_dim] each. A cached value is the integer times its channel's scale.
 */
export interface LayerKvScales {
  readonly key: Float32Array;
  readonly value: Float32Array;
}

/** Adds the scales, by layer, to a graph. */
export function declareKvScales(
  graph: GraphNodes,
  kvScales: readonly LayerKvScales[],
  headsOf: (layer: number) => KvHeads,
): void {
  for (const [layer, { key, value }] of kvScales.entries()) {
    const { numKvHeads, headDim } = headsOf(layer);
    for (const [kind, scales] of Object.entries({ key, value })) {
      graph.initializer(scaleName(layer, kind), 'float', [numKvHeads, 1, headDim], scales);
    }
  }
}

function scaleName(layer: number, kind: string): string {
  return `layers.${layer}.attention.${kind}_scale`;
}

/** The inputs and attributes that make a layer's cache int8 for GroupQueryAttention. */
export function quantizedCache(
  layer: number,
  sinks = '',
): {
  /** From the one after the rotary tables on. */
  readonly inputs: readonly string[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
} {
  return {
    // Left out: positions and attention bias.
    inputs: ['', '', sinks, scaleName(layer, 'key'), scaleName(layer, 'value')],
    attributes: {
      k_quant_type: 'PER_CHANNEL',
      v_quant_type: 'PER_CHANNEL',
      kv_cache_bit_width: 8n,
    },
  };
}
