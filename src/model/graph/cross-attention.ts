/**
 * Layers that attend to an encoder's output besides the text (Whisper). Its keys and values lie in the KV cache
 * at the positions before the text, where decoders that see have an image's: a prompt begins with the encoder's
 * rows as embeddings. Of these a layer computes keys and values alone.
 */
import type { DecoderConfig } from '../huggingface/config.ts';
import { ModelError } from '../model-error.ts';
import { ofLayer } from '../families/family.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { ResidualSum } from './decoder-values.ts';
import { type HeardRows, heardRows } from './heard-rows.ts';
import type { LinearLayer } from './linear.ts';

/** The linear layers of a layer's attention to an encoder's output. */
export interface CrossLayers {
  readonly query: LinearLayer;
  /** Keys and values, side by side. */
  readonly keyValue: LinearLayer;
  readonly output: LinearLayer;
}

/** Null where layers attend to the text alone. */
export function crossLayers(config: DecoderConfig, layer: number): CrossLayers | null {
  const { family, hiddenSize, numHeads, headDim } = config;
  const { crossAttention: names } = family;
  if (names === undefined) return null;
  const size = numHeads * headDim;
  const linear = (part: string, inFeatures: number, tensors: readonly string[], out: number) => ({
    name: `layers.${layer}.cross.${part}`,
    inFeatures,
    parts: tensors.map((tensor) => ({ tensor: ofLayer(family, layer, tensor), outFeatures: out })),
    bias: true,
  });
  return {
    query: linear('query', hiddenSize, [names.query], size),
    keyValue: linear('kv', hiddenSize, names.keyValue, size),
    output: linear('output', size, [names.output], hiddenSize),
  };
}

/** Attention of a decoder whose layers attend to an encoder's output. */
export interface CrossAttention {
  /** Attention over tokens of texts alone, in place of all tokens. */
  readonly attention: DecoderAttention;
  /** `logits_index`, as places among tokens of texts. */
  readonly wanted: string;
  /**
   * Adds to the sum what a layer makes of the encoder's output.
   * @param pick see Addition
   */
  add(
    layer: number,
    sum: ResidualSum,
    pick: (value: string) => string,
    rowsLike: string,
  ): ResidualSum;
}

/** @throws {ModelError} over a cache that has no such attention */
export function crossAttention(ops: DecoderOps, inner: DecoderAttention): CrossAttention {
  const { graph, config } = ops;
  const { hiddenSize, numHeads, headDim, family } = config;
  const { attendHeard } = inner;
  if (attendHeard === undefined) {
    throw new ModelError(
      `${family.modelType} is computed in float32, over slots and with ONNX Runtime's operators alone`,
    );
  }
  const heard = heardRows(graph, inner.tokenIds, hiddenSize);
  const size = numHeads * headDim;
  return {
    attention: {
      ...inner,
      tokenIds: heard.tokenIds,
      positions: () => heard.texts(inner.positions()),
      attend(layer, qkv, norms) {
        const name = `layers.${layer}.cross`;
        const all = heard.together(name, qkv, heardKeysAndValues(ops, heard, layer, size));
        return heard.texts(inner.attend(layer, all, norms));
      },
    },
    wanted: heard.wanted,
    add(layer, before, pick, rowsLike) {
      const layers = crossLayers(config, layer);
      if (layers === null) return before;
      const { sum, ...read } = ops.norm(
        ofLayer(family, layer, family.crossAttention?.norm ?? ''),
        before,
      );
      const query = ops.linear(layers.query, { ...read, rowsLike: heard.tokenIds });
      const spread = heard.spread(`${layers.query.name}/Spread`, query, size);
      const value = heard.texts(attendHeard(layer, spread));
      const prefix = `layers.${layer}.cross`;
      return ops.addLinear(
        layers.output,
        { value, rowsLike },
        { to: sum, norm: null, prefix, pick },
      );
    },
  };
}

/** Values of the encoder's rows, [rows, 3 * size]: nothing reads those in the place of queries. */
function heardKeysAndValues(
  ops: DecoderOps,
  { rows, rowsLike }: HeardRows,
  layer: number,
  size: number,
): string {
  const { graph, config } = ops;
  const layers = crossLayers(config, layer);
  if (layers === null) return rows;
  const made = ops.linear(layers.keyValue, { value: rows, rowsLike });
  const pads = BigInt64Array.of(0n, BigInt(size), 0n, 0n);
  const before = graph.initializer(`${layers.keyValue.name}/pads`, 'int64', [4], pads);
  return graph.node(`${layers.keyValue.name}/Padded`, 'Pad', [made, before]);
}
