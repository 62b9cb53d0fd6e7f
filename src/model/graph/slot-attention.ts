import { type GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import { normalizeHeads } from './head-norms.ts';
import { HeardAttention } from './heard-attention.ts';
import { sinksOf } from './attention-sinks.ts';
import { layerKvNames } from './kv-names.ts';
import { atLayer } from '../huggingface/layer-heads.ts';
import { kvLayer } from './layer-kinds.ts';
import { declareKvScales, type LayerKvScales, quantizedCache } from './kv-scales.ts';
import { attentionAttributes } from './attention-attributes.ts';
import { rotaryTableNames } from './rotary-tables.ts';
import {
  declareSlotInputs,
  declareSlotOutputs,
  presentNames,
  slotCache,
} from './slot-interface.ts';
import { type GroupPrefix, packTokens } from './token-packing.ts';
import { packPositions } from './token-positions.ts';
import type { FloatType } from '../quantize/weight-format.ts';

/**
 * Attention over a KV cache in slots, by GroupQueryAttention for each group of slots: adds the inputs of
 * buildDecoderGraph to a graph with rotary tables.
 * @param type of what attention reads and writes, and of the cache
 * @param kvScales by layer, for a cache of int8
 */
export function slotAttention(
  graph: GraphBuilder,
  config: DecoderConfig,
  type: FloatType,
  groups: readonly GroupPrefix[],
  kvScales: readonly LayerKvScales[] | undefined,
): DecoderAttention {
  const { numHeads, headDim } = config;
  const cache = slotCache(config, kvScales ? 'int8' : type);
  const inGroup = (group: GroupPrefix, names: readonly string[]) =>
    names.map((name) => `${group}${name}`);

  declareSlotInputs(graph, groups, cache);
  declareKvScales(graph, kvScales ?? [], cache.headsOf);
  const packing = packTokens(graph, groups);
  const heard = config.crossPositions === undefined ? null : new HeardAttention(graph, config);

  function attendGroup(layer: number, qkv: string, group: GroupPrefix): string {
    const name = `${group}layers.${layer}.attention/GroupQueryAttention`;
    const ofCache = kvLayer(config, layer);
    const sinks = sinksOf(config, layer);
    const quantized = kvScales
      ? quantizedCache(ofCache, sinks)
      : { inputs: optionalInputs(sinks, heard?.textMask(group) ?? ''), attributes: {} };
    return graph.node(
      name,
      'GroupQueryAttention',
      [
        qkv,
        // Key and value are packed into the query input.
        '',
        '',
        ...inGroup(group, layerKvNames('past_key_values', ofCache)),
        `${group}seqlens_k`,
        `${group}total_sequence_length`,
        ...rotaryTableNames(config, layer),
        ...quantized.inputs,
      ],
      {
        domain: MICROSOFT_DOMAIN,
        outputs: [name, ...inGroup(group, presentNames(config, layer))],
        attributes: { ...attentionAttributes(config, layer), ...quantized.attributes },
      },
    );
  }

  return {
    groups,
    tokenIds: packing.tokenIds,
    positions: () => packPositions(graph, groups),
    attend: (layer, qkv, norms) => {
      const ofLayer = atLayer(config, layer);
      return packing.forEachGroup(
        [normalizeHeads(graph, ofLayer, qkv, norms)],
        numHeads * ofLayer.headDim,
        ([rows = ''], group) => attendGroup(layer, rows, group),
      );
    },
    declareOutputs: () => declareSlotOutputs(graph, groups, cache),
    ...(heard && {
      attendHeard: (layer, queries) =>
        packing.forEachGroup([queries], numHeads * headDim, ([rows = ''], group) => {
          const [keys, values] = inGroup(group, layerKvNames('present', kvLayer(config, layer)));
          return heard.attend(group, layer, rows, keys ?? '', values ?? '');
        }),
    }),
  };
}

/** Inputs after the rotary tables; positions are left out. */
function optionalInputs(sinks: string, mask: string): string[] {
  if (sinks !== '') return ['', mask, sinks];
  return mask === '' ? [] : ['', mask];
}
