import { type GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import { normalizeHeads } from './head-norms.ts';
import { TURNING_TABLES } from './rotary-tables.ts';

/** Attention of a family that normalizes heads after rotary embedding: both come before it; others as they are. */
export function rotatingAttention(
  graph: GraphBuilder,
  config: DecoderConfig,
  attention: DecoderAttention,
): DecoderAttention {
  if (config.family.tensors.layer.headNorms?.isAfterRope !== true) return attention;
  let positions: string | undefined;
  return {
    ...attention,
    attend(layer, qkv, norms) {
      positions ??= positionColumn(graph, attention.positions());
      const turned = rotateHeads(graph, config, qkv, positions);
      return attention.attend(layer, normalizeHeads(graph, config, turned, norms), null);
    },
  };
}

function positionColumn(graph: GraphBuilder, positions: string): string {
  const axis = graph.initializer('rotation/axis', 'int64', [1], BigInt64Array.of(1n));
  return graph.node('rotation/positions', 'Unsqueeze', [positions, axis]);
}

/**
 * Rotary embedding of queries and keys before attention, which has tables of angle 0 then.
 * @param qkv [tokens, (heads + 2 kv_heads) * head_dim]
 * @param positions int64 [tokens, 1]
 * @returns the name of a value of the same shape
 */
function rotateHeads(
  graph: GraphBuilder,
  { numHeads, numKvHeads, headDim }: DecoderConfig,
  qkv: string,
  positions: string,
): string {
  const int64s = (name: string, ...values: readonly number[]) =>
    graph.initializer(
      `${qkv}/${name}`,
      'int64',
      [values.length],
      BigInt64Array.from(values, BigInt),
    );
  const turning = (numHeads + numKvHeads) * headDim;
  const [heads, values] = [`${qkv}/Turning`, `${qkv}/Values`];
  graph.node(`${qkv}/Apart`, 'Split', [qkv, int64s('sizes', turning, numKvHeads * headDim)], {
    outputs: [heads, values],
    attributes: { axis: 1n },
  });
  // Each token is a sequence: of the tokens of one there cannot be more than positions.
  const rows = graph.node(`${qkv}/Rows`, 'Reshape', [heads, int64s('rows', -1, 1, turning)]);
  const turned = graph.node(
    `${qkv}/Rotated`,
    'RotaryEmbedding',
    [rows, positions, ...TURNING_TABLES],
    {
      domain: MICROSOFT_DOMAIN,
    },
  );
  const flat = graph.node(`${qkv}/Turned`, 'Reshape', [turned, int64s('flat', -1, turning)]);
  return graph.node(`${qkv}/Together`, 'Concat', [flat, values], { attributes: { axis: 1n } });
}
