import { type GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import { sinksOf } from './attention-sinks.ts';
import { attentionAttributes } from './attention-attributes.ts';
import { normalizeHeads } from './head-norms.ts';
import { kvNames, layerKvNames } from './kv-names.ts';
import { rotaryTableNames } from './rotary-tables.ts';
import type { FloatType } from '../quantize/weight-format.ts';

/**
 * Attention over a paged KV cache: adds its inputs to a graph with rotary tables, see
 * buildPagedGraph.
 */
export function pagedAttention(
  graph: GraphBuilder,
  config: DecoderConfig,
  type: FloatType,
): DecoderAttention {
  const { numLayers, numKvHeads, headDim } = config;
  const cacheDims = ['num_blocks', 'block_size', numKvHeads, headDim];

  graph.input('input_ids', 'int64', ['tokens']);
  graph.input('cumulative_sequence_length', 'int32', ['batch_plus_one']);
  graph.input('past_seqlens', 'int32', ['batch']);
  graph.input('block_table', 'int32', ['batch', 'max_blocks_per_sequence']);
  graph.input('attention_metadata', 'int32', [2]);
  for (const name of kvNames('past_key_values', numLayers)) graph.input(name, type, cacheDims);

  return {
    groups: [],
    tokenIds: 'input_ids',
    positions() {
      throw new RangeError('no paged graph has embeddings of positions');
    },
    attend(layer, qkv, norms) {
      const name = `layers.${layer}.attention/PagedAttention`;
      const sinks = sinksOf(config, layer);
      // After the rotary tables: slot_mapping, head_sink, q_norm_weight, k_norm_weight, k_scale and
      // v_scale. Without the metadata each layer would wait for the lengths to come from the device.
      const optional = ['', sinks, '', '', '', '', 'attention_metadata'];
      return graph.node(
        name,
        'PagedAttention',
        [
          normalizeHeads(graph, config, qkv, norms),
          // Key and value are packed into the query input.
          '',
          '',
          ...layerKvNames('past_key_values', layer),
          'cumulative_sequence_length',
          'past_seqlens',
          'block_table',
          ...rotaryTableNames(config, layer),
          ...optional,
        ],
        {
          domain: MICROSOFT_DOMAIN,
          outputs: [name, ...layerKvNames('present', layer)],
          attributes: attentionAttributes(config, layer),
        },
      );
    },
    declareOutputs() {
      for (const name of kvNames('present', numLayers)) graph.output(name, type, cacheDims);
    },
  };
}
