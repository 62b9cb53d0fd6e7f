import { type GraphBuilder, MICROSOFT_DOMAIN } from '../onnx/graph-builder.ts';
import { elementTypeInfo } from '../onnx/element-type.ts';
import type { DecoderConfig } from './config.ts';
import { SCORE_SCALE } from './rope.ts';

/** The graph's attention over a KV cache in blocks. */
export interface PagedAttention {
  /** int64 [tokens] */
  readonly tokenIds: string;
  /** Takes [tokens, (heads + 2 kv_heads) * head_dim]; returns the name of [tokens, heads * head_dim]. */
  attend(layer: number, qkv: string): string;
  declareOutputs(): void;
}

/** The only element type that the WebGPU provider's kernel has; the CUDA provider's has it, too. */
const TYPE = 'float16';

/** Adds the inputs of PagedAttention to a graph with rotary tables; see buildPagedGraph. */
export function pagedAttention(graph: GraphBuilder, config: DecoderConfig): PagedAttention {
  const { numLayers, numHeads, numKvHeads, headDim } = config;
  const cacheDims = ['num_blocks', 'block_size', numKvHeads, headDim];
  const cacheOf = (prefix: string, layer: number) =>
    ['key', 'value'].map((kind) => `${prefix}.${layer}.${kind}`);
  const eachCache = (prefix: string) =>
    Array.from({ length: numLayers }, (_, layer) => cacheOf(prefix, layer)).flat();
  const cast = (name: string, value: string, type: 'float' | 'float16') => {
    const to = BigInt(elementTypeInfo(type).dataType);
    return graph.node(name, 'Cast', [value], { attributes: { to } });
  };

  graph.input('input_ids', 'int64', ['tokens']);
  graph.input('cumulative_sequence_length', 'int32', ['batch_plus_one']);
  graph.input('past_seqlens', 'int32', ['batch']);
  graph.input('block_table', 'int32', ['batch', 'max_blocks_per_sequence']);
  graph.input('attention_metadata', 'int32', [2]);
  for (const name of eachCache('past_key_values')) graph.input(name, TYPE, cacheDims);

  const tables = ['cos_cache', 'sin_cache'].map((table) => cast(`${table}/Half`, table, TYPE));

  return {
    tokenIds: 'input_ids',
    attend(layer, qkv) {
      const name = `layers.${layer}.attention/PagedAttention`;
      // Behind the rotary tables: slot_mapping, head_sink, q_norm_weight, k_norm_weight, k_scale and
      // v_scale. Without the metadata each layer would wait for the lengths to come from the device.
      const optional = ['', '', '', '', '', '', 'attention_metadata'];
      const attended = graph.node(
        name,
        'PagedAttention',
        [
          cast(`${qkv}/Half`, qkv, TYPE),
          // Key and value are packed into the query input.
          '',
          '',
          ...cacheOf('past_key_values', layer),
          'cumulative_sequence_length',
          'past_seqlens',
          'block_table',
          ...tables,
          ...optional,
        ],
        {
          domain: MICROSOFT_DOMAIN,
          outputs: [name, ...cacheOf('present', layer)],
          attributes: {
            num_heads: BigInt(numHeads),
            kv_num_heads: BigInt(numKvHeads),
            do_rotary: 1n,
            scale: SCORE_SCALE,
          },
        },
      );
      return cast(`${name}/Float`, attended, 'float');
    },
    declareOutputs() {
      for (const name of eachCache('present')) graph.output(name, TYPE, cacheDims);
    },
  };
}
