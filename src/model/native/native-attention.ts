import { type GraphBuilder, NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';
import { sinksOf } from '../graph/attention-sinks.ts';
import type { DecoderAttention } from '../graph/decoder-attention.ts';
import { attentionAttributes } from '../graph/attention-attributes.ts';
import { normalizeHeads } from '../graph/head-norms.ts';
import { IMAGE_ENDS } from '../graph/image-ends.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { atLayer } from '../huggingface/layer-heads.ts';
import { firstWithoutKeys, kvLayer } from '../graph/layer-kinds.ts';
import { layerKvNames } from '../graph/kv-names.ts';
import { KV_ELEMENT_TYPES, type KvCacheDtype } from '../manifest.ts';
import { rotaryTableNames } from '../graph/rotary-tables.ts';
import {
  declareSlotInputs,
  declareSlotOutputs,
  presentNames,
  slotCache,
} from '../graph/slot-interface.ts';
import type { GroupPrefix } from '../graph/token-packing.ts';
import { packPositions } from '../graph/token-positions.ts';
import { nativePositionWidth } from './position-width.ts';

const OPERATORS = {
  float32: 'Attention',
  float16: 'AttentionFloat16',
  int8: 'AttentionInt8',
  int4: 'AttentionInt4',
} as const;

/**
 * Attention of native/, over all groups of rows in one node: adds the inputs of
 * buildDecoderGraph to a graph with rotary tables.
 */
export function nativeAttention(
  graph: GraphBuilder,
  config: DecoderConfig,
  groups: readonly GroupPrefix[],
  kvCacheDtype: KvCacheDtype,
): DecoderAttention {
  const { family } = config;
  const cache = slotCache(config, KV_ELEMENT_TYPES[kvCacheDtype], (headDim) =>
    nativePositionWidth(headDim, kvCacheDtype),
  );
  declareSlotInputs(graph, groups, cache);
  const ends = config.takesImageEnds ? graph.input(IMAGE_ENDS, 'int32', ['tokens']) : '';
  const rest = graph.initializer('packing/rest', 'int64', [1], BigInt64Array.of(-1n));
  const ids = groups.map((group) =>
    graph.node(`${group}packing/ids`, 'Reshape', [`${group}input_ids`, rest]),
  );
  const [only = ''] = ids;
  const tokenIds =
    ids.length === 1
      ? only
      : graph.node('packing/token_ids', 'Concat', ids, { attributes: { axis: 0n } });

  return {
    groups,
    tokenIds,
    positions: () => packPositions(graph, groups),
    attend(layer, qkv, norms) {
      const name = `layers.${layer}.attention/Attention`;
      const ofLayer = atLayer(config, layer);
      // The operator's own are by the root of the mean square, with weights that all heads share.
      const isBefore = family.norms !== 'rms' || norms?.over === 'each head';
      const within = isBefore ? null : norms;
      const ofCache = kvLayer(config, layer);
      const ofGroup = (group: GroupPrefix, names: readonly string[]) =>
        names.map((each) => `${group}${each}`);
      const inputs = groups.flatMap((group) =>
        ofGroup(group, [
          'input_ids',
          ...layerKvNames('past_key_values', ofCache),
          'seqlens_k',
          'total_sequence_length',
        ]),
      );
      const wanted = layer >= firstWithoutKeys(config) ? 'logits_index' : '';
      const outputs = groups.flatMap((group) => ofGroup(group, presentNames(config, layer)));
      return graph.node(
        name,
        OPERATORS[kvCacheDtype],
        [
          isBefore ? normalizeHeads(graph, ofLayer, qkv, norms) : qkv,
          ...rotaryTableNames(config, layer),
          within?.query ?? '',
          within?.key ?? '',
          sinksOf(config, layer),
          ...inputs,
          ...lastInputs(groups.length, [ends, wanted]),
        ],
        {
          domain: NATIVE_DOMAIN,
          outputs: [name, ...outputs],
          attributes: {
            ...attentionAttributes(config, layer),
            head_dim: BigInt(ofLayer.headDim),
            norms_all_heads: within?.over === 'all heads' ? 1n : 0n,
            epsilon: config.rmsNormEps,
          },
        },
      );
    },
    declareOutputs: () => declareSlotOutputs(graph, groups, cache),
  };
}

/** Inputs of a group, and groups that the operator has room for. */
const GROUP_INPUTS = 5;
const MAX_GROUPS = 2;

/** Inputs after those of all groups; empty names are of what is left out. */
function lastInputs(numGroups: number, names: readonly string[]): readonly string[] {
  const given = names.slice(0, names.findLastIndex((name) => name !== '') + 1);
  if (given.length === 0) return given;
  const leftOut = Array.from({ length: GROUP_INPUTS * (MAX_GROUPS - numGroups) }, () => '');
  return [...leftOut, ...given];
}
