import { int64s } from '../../onnx/int64s.ts';
import { type GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import { normalizeHeads } from './head-norms.ts';
import { anglesOfImages } from './image-positions.ts';
import { TURNING_TABLES } from './rotary-tables.ts';

/** Inputs of a rotation, and the dimensions of what it takes before the channels. */
export interface Rotation {
  readonly positions: string;
  readonly tables: readonly [cos: string, sin: string];
  readonly dims: readonly [number, number];
}

/**
 * Attention of a family that normalizes heads after rotary embedding: both come before it. With positions of
 * images rotary embedding comes before it as well. Others are as they are.
 */
export function rotatingAttention(
  graph: GraphBuilder,
  config: DecoderConfig,
  attention: DecoderAttention,
): DecoderAttention {
  const isBeforeNorms = config.family.tensors.layer.headNorms?.isAfterRope === true;
  if (!isBeforeNorms && config.takesImagePositions !== true) return attention;
  let rotation: Rotation | undefined;
  return {
    ...attention,
    attend(layer, qkv, norms) {
      rotation ??= config.takesImagePositions
        ? byImages(graph, config)
        : byPlace(graph, attention.positions());
      const [before, after] = isBeforeNorms ? [null, norms] : [norms, null];
      const normalized = normalizeHeads(graph, config, qkv, before);
      const turned = rotateHeads(graph, config, normalized, rotation);
      return attention.attend(layer, normalizeHeads(graph, config, turned, after), null);
    },
  };
}

function byPlace(graph: GraphBuilder, positions: string): Rotation {
  const axis = graph.initializer('rotation/axis', 'int64', [1], BigInt64Array.of(1n));
  return {
    positions: graph.node('rotation/positions', 'Unsqueeze', [positions, axis]),
    tables: TURNING_TABLES,
    // Each token is a sequence: of the tokens of one there cannot be more than positions.
    dims: [-1, 1],
  };
}

/** One sequence, whose tokens have a row each in tables of their own. */
function byImages(graph: GraphBuilder, config: DecoderConfig): Rotation {
  return {
    positions: graph.initializer('rotation/begin', 'int64', [1], BigInt64Array.of(0n)),
    tables: anglesOfImages(graph, config),
    dims: [1, -1],
  };
}

/**
 * Rotary embedding of queries and keys before attention, which has tables of angle 0 then.
 * @param qkv [tokens, (heads + 2 kv_heads) * head_dim]
 * @returns the name of a value of the same shape
 */
export function rotateHeads(
  graph: GraphBuilder,
  { numHeads, numKvHeads, headDim }: Pick<DecoderConfig, 'numHeads' | 'numKvHeads' | 'headDim'>,
  qkv: string,
  { positions, tables, dims }: Rotation,
): string {
  const ints = (name: string, ...values: readonly number[]) =>
    int64s(graph, `${qkv}/${name}`, ...values);
  const turning = (numHeads + numKvHeads) * headDim;
  const [heads, values] = [`${qkv}/Turning`, `${qkv}/Values`];
  graph.node(`${qkv}/Apart`, 'Split', [qkv, ints('sizes', turning, numKvHeads * headDim)], {
    outputs: [heads, values],
    attributes: { axis: 1n },
  });
  const rows = graph.node(`${qkv}/Rows`, 'Reshape', [heads, ints('rows', ...dims, turning)]);
  const turned = graph.node(`${qkv}/Rotated`, 'RotaryEmbedding', [rows, positions, ...tables], {
    domain: MICROSOFT_DOMAIN,
  });
  const flat = graph.node(`${qkv}/Turned`, 'Reshape', [turned, ints('flat', -1, turning)]);
  return graph.node(`${qkv}/Together`, 'Concat', [flat, values], { attributes: { axis: 1n } });
}
