import { type GraphBuilder, NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';
import { sinksOf } from '../graph/attention-sinks.ts';
import type { DecoderAttention } from '../graph/decoder-attention.ts';
import { attentionAttributes } from '../graph/attention-attributes.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { layerKvNames } from '../graph/kv-names.ts';
import type { KvCacheDtype } from '../manifest.ts';
import { rotaryTableNames } from '../graph/rotary-tables.ts';
import { declareSlotInputs, declareSlotOutputs } from '../graph/slot-interface.ts';
import type { GroupPrefix } from '../graph/token-packing.ts';
import { packPositions } from '../graph/token-positions.ts';
import { nativePositionWidth } from './position-width.ts';

const OPERATORS = {
  float32: 'Attention',
  float16: 'AttentionFloat16',
  int8: 'AttentionInt8',
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
  const { numLayers, numKvHeads, headDim, rmsNormEps } = config;
  const type = kvCacheDtype === 'float32' ? 'float' : kvCacheDtype;
  const width = nativePositionWidth(headDim, kvCacheDtype);
  const cache = { numLayers, numKvHeads, headDim: width, type } as const;
  declareSlotInputs(graph, groups, cache);
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
    tokenIds,
    positions: () => packPositions(graph, groups),
    attend(layer, qkv, norms) {
      const name = `layers.${layer}.attention/Attention`;
      const ofGroup = (group: GroupPrefix, names: readonly string[]) =>
        names.map((each) => `${group}${each}`);
      const inputs = groups.flatMap((group) =>
        ofGroup(group, [
          'input_ids',
          ...layerKvNames('past_key_values', layer),
          'seqlens_k',
          'total_sequence_length',
        ]),
      );
      const outputs = groups.flatMap((group) => ofGroup(group, layerKvNames('present', layer)));
      return graph.node(
        name,
        OPERATORS[kvCacheDtype],
        [
          qkv,
          ...rotaryTableNames(config, layer),
          norms?.query ?? '',
          norms?.key ?? '',
          sinksOf(config, layer),
          ...inputs,
        ],
        {
          domain: NATIVE_DOMAIN,
          outputs: [name, ...outputs],
          attributes: {
            ...attentionAttributes(config, layer),
            head_dim: BigInt(headDim),
            norms_all_heads: norms?.over === 'all heads' ? 1n : 0n,
            epsilon: rmsNormEps,
          },
        },
      );
    },
    declareOutputs: () => declareSlotOutputs(graph, groups, cache),
  };
}
