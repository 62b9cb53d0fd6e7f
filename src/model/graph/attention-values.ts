import { int64s } from '../../onnx/int64s.ts';
import { atLayer, keysOf, numOwnParts } from '../huggingface/layer-heads.ts';
import { floatData } from '../quantize/float-matrix.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { splitColumns } from './recurrence.ts';
import { emitRmsNorm } from './rms-norm.ts';

/**
 * Attention of a family that normalizes values, and whose layers may lack values or keys and values of their own:
 * these are what keys are made of, and another layer's. Others are as they are.
 */
export function completedAttention(ops: DecoderOps, attention: DecoderAttention): DecoderAttention {
  const { graph, config } = ops;
  if (config.family.varied === undefined) return attention;
  // Keys and values by layer, side by side, before norms of keys and rotary embedding.
  const made = new Map<number, string>();

  function keysAndValues(layer: number, product: string): { queries: string; both: string } {
    const { numHeads, numKvHeads, headDim } = atLayer(config, layer);
    const width = numKvHeads * headDim;
    const parts = [
      ['Queries', numHeads * headDim],
      ['Keys', width],
      ['Values', width],
    ] as const;
    const own = parts.slice(0, numOwnParts(config, layer));
    const [queries = '', keys = '', values = keys] = splitColumns(ops, product, own);
    const normalized = normalizeValues(ops, layer, values);
    const both = graph.node(`${product}/KeysValues`, 'Concat', [keys, normalized], {
      attributes: { axis: 1n },
    });
    return { queries, both };
  }

  return {
    ...attention,
    attend(layer, product, norms) {
      const source = keysOf(config, layer);
      const own = source === layer ? keysAndValues(layer, product) : null;
      if (own !== null) made.set(layer, own.both);
      const parts = [own?.queries ?? product, made.get(source) ?? ''];
      const all = graph.node(`${product}/Complete`, 'Concat', parts, { attributes: { axis: 1n } });
      return attention.attend(layer, all, norms);
    },
  };
}

/** RMS normalization of each head's values [tokens, kv_heads * head_dim], without weights. */
function normalizeValues(
  { graph, config, type }: DecoderOps,
  layer: number,
  values: string,
): string {
  const { numKvHeads, headDim } = atLayer(config, layer);
  const prefix = `layers.${layer}.attention/Values`;
  const ones = floatData(type, new Float32Array(headDim).fill(1));
  const weight = graph.initializer(`${prefix}/ones`, type, [headDim], ones);
  const heads = graph.node(`${prefix}/Heads`, 'Reshape', [
    values,
    int64s(graph, `${prefix}/by_head`, -1, numKvHeads, headDim),
  ]);
  const normalized = emitRmsNorm(graph, `${prefix}/Norm`, heads, weight, config.rmsNormEps);
  return graph.node(`${prefix}/Flat`, 'Reshape', [
    normalized,
    int64s(graph, `${prefix}/flat`, -1, numKvHeads * headDim),
  ]);
}
