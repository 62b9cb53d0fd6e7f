import { type GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { attentionAttributes } from '../../model/graph/attention-attributes.ts';
import type { DecoderAttention } from '../../model/graph/decoder-attention.ts';
import { normalizeHeads } from '../../model/graph/head-norms.ts';
import { layerKvNames } from '../../model/graph/kv-names.ts';
import { rotaryTableNames } from '../../model/graph/rotary-tables.ts';
import type { DecoderConfig } from '../../model/huggingface/config.ts';

/** Names of what textAttention adds to a graph's inputs. */
export const TEXT_INPUTS = {
  /** int64 [tokens] */
  tokenIds: 'token_ids',
  /** int32 [1]: the number of tokens minus one. */
  lastPosition: 'last_position',
  /** int32 [] */
  numTokens: 'num_tokens',
} as const;

/** Attention within one whole text, without a cache. */
export function textAttention(graph: GraphBuilder, config: DecoderConfig): DecoderAttention {
  const { tokenIds, lastPosition, numTokens } = TEXT_INPUTS;
  graph.input(tokenIds, 'int64', ['tokens']);
  graph.input(lastPosition, 'int32', [1]);
  graph.input(numTokens, 'int32', []);
  const first = graph.initializer('text/first', 'int64', [1], BigInt64Array.of(0n));
  const width = BigInt(config.numHeads * config.headDim);
  const flat = graph.initializer('text/rows', 'int64', [2], BigInt64Array.of(-1n, width));
  return {
    groups: [],
    tokenIds,
    positions() {
      throw new TypeError('optimize takes no model with learned positions');
    },
    attend(layer, qkv, norms) {
      const name = `layers.${layer}.attention/GroupQueryAttention`;
      const rows = normalizeHeads(graph, config, qkv, norms);
      const text = graph.node(`${rows}/Text`, 'Unsqueeze', [rows, first]);
      const lengths = [lastPosition, numTokens];
      // Key and value are packed into the query input, and there are none before them.
      const inputs = [text, '', '', '', '', ...lengths, ...rotaryTableNames(config, layer)];
      const attended = graph.node(name, 'GroupQueryAttention', inputs, {
        domain: MICROSOFT_DOMAIN,
        outputs: [name, ...layerKvNames('present', layer)],
        attributes: attentionAttributes(config, layer),
      });
      return graph.node(`${name}/Rows`, 'Reshape', [attended, flat]);
    },
    declareOutputs: () => {},
  };
}
