import { int64s } from '../../onnx/int64s.ts';
import { atLayer, keysOf, numOwnParts } from '../huggingface/layer-heads.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { firstWithoutKeys } from './layer-kinds.ts';
import { splitColumns } from './recurrence.ts';
import { emitRmsNorm } from './rms-norm.ts';

/** Parts of a layer's product, before norms of heads and rotary embedding. */
interface OwnParts {
  readonly queries: string;
  /** Keys and values, side by side. */
  readonly keysValues: string;
}

/**
 * Attention of a family that normalizes values, and whose layers may lack values or keys and values of their own:
 * these are what keys are made of, and another layer's. Others are as they are.
 */
export function completedAttention(ops: DecoderOps, attention: DecoderAttention): DecoderAttention {
  const { graph, config } = ops;
  if (config.family.varied === undefined) return attention;
  const byLayer = new Map<number, OwnParts>();
  let places: string | null = null;

  function ownParts(layer: number, product: string): OwnParts {
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
    const keysValues = graph.node(`${product}/KeysValues`, 'Concat', [keys, normalized], {
      attributes: { axis: 1n },
    });
    return { queries, keysValues };
  }

  /** Queries of the wanted rows among others of all tokens, as wide: of what those attend to nothing is read. */
  function amongAll(wanted: string, others: string): string {
    places ??= graph.node('attention/WantedPlaces', 'Reshape', [
      'logits_index',
      int64s(graph, 'attention/by_place', -1, 1),
    ]);
    return graph.node(`${wanted}/AmongAll`, 'ScatterND', [others, places, wanted]);
  }

  return {
    ...attention,
    attend(layer, product, norms) {
      const source = keysOf(config, layer);
      const parts = byLayer.get(source) ?? ownParts(layer, product);
      byLayer.set(source, parts);
      const isPicked = layer >= firstWithoutKeys(config);
      const own = isPicked ? amongAll(product, parts.queries) : product;
      const queries = source === layer ? parts.queries : own;
      const all = graph.node(`${product}/Complete`, 'Concat', [queries, parts.keysValues], {
        attributes: { axis: 1n },
      });
      const attended = attention.attend(layer, all, norms);
      if (!isPicked) return attended;
      return graph.node(`${product}/Wanted`, 'Gather', [attended, 'logits_index']);
    },
  };
}

/** RMS normalization of each head's values [tokens, kv_heads * head_dim], without weights. */
function normalizeValues(
  { graph, config, norms }: DecoderOps,
  layer: number,
  values: string,
): string {
  const { numKvHeads, headDim } = atLayer(config, layer);
  const prefix = `layers.${layer}.attention/Values`;
  const weight = norms.ones(headDim);
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
