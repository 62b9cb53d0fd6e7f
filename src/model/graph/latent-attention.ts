import { int64s } from '../../onnx/int64s.ts';
import { ofLayer } from '../families/family.ts';
import type { LatentNames } from '../families/latent.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { LatentAttention } from '../huggingface/latent-config.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { LinearLayer } from './linear.ts';
import { splitColumns } from './recurrence.ts';
import { emitRmsNorm } from './rms-norm.ts';

/** Epsilon of the norms of latents, whatever config.json has for the others. */
const EPSILON = 1e-6;

/** The linear layers of attention from latents. */
export interface LatentLayers {
  /** Queries, or what they come from, the latent, and the part of keys that turns, side by side. */
  readonly input: LinearLayer;
  /** From what `input` gives for queries to these; null if it gives them. */
  readonly query: LinearLayer | null;
  /** From the latent to the part of keys that does not turn, and values, head by head. */
  readonly keyValue: LinearLayer;
  readonly output: LinearLayer;
}

export function latentLayers(
  config: DecoderConfig,
  latent: LatentAttention,
  layer: number,
): LatentLayers {
  const { family, hiddenSize, numHeads, headDim, queryKeyValueBias: bias } = config;
  const names = namesOf(config);
  const { queryRank, keyValueRank, rotaryDim, stillDim, valueDim } = latent;
  const queries = numHeads * headDim;
  const prefix = `layers.${layer}.attention`;
  const part = (name: string, outFeatures: number) => ({
    tensor: ofLayer(family, layer, name),
    outFeatures,
  });
  const after = (name: string, inFeatures: number, tensor: string, outFeatures: number) => ({
    name: `${prefix}.${name}`,
    inFeatures,
    parts: [part(tensor, outFeatures)],
    bias: false,
  });
  const first = queryRank === null ? part(names.query, queries) : part(names.queryDown, queryRank);
  return {
    input: {
      name: `${prefix}.down`,
      inFeatures: hiddenSize,
      parts: [first, part(names.keyValueDown, keyValueRank + rotaryDim)],
      bias,
    },
    query: queryRank === null ? null : after('query', queryRank, names.queryUp, queries),
    keyValue: after('kv', keyValueRank, names.keyValueUp, numHeads * (stillDim + valueDim)),
    output: {
      name: `${prefix}.output`,
      inFeatures: numHeads * valueDim,
      parts: [{ ...part('', hiddenSize), tensor: outputOf(config, layer) }],
      bias: config.attentionOutputBias,
    },
  };
}

/**
 * Adds attention whose keys and values come from a latent, and go into the KV cache as those of other
 * attention: for every head, values with zeros up to the size of keys.
 * @param input [tokens, n], what the layers' `input` gives
 * @returns the name of [tokens, heads * value_dim]
 */
export function emitLatentAttention(
  ops: DecoderOps,
  attention: DecoderAttention,
  layer: number,
  latent: LatentAttention,
  input: string,
): string {
  const { graph, config } = ops;
  const { numHeads, headDim } = config;
  const { queryRank, keyValueRank, rotaryDim, stillDim, valueDim } = latent;
  const layers = latentLayers(config, latent, layer);
  const names = namesOf(config);
  const prefix = `layers.${layer}.attention`;
  const ints = (name: string, ...values: readonly number[]) =>
    int64s(graph, `${prefix}/${name}`, ...values);
  const split = (name: string, value: string, sizes: readonly number[]): string[] => {
    const outputs = sizes.map((_, index) => `${prefix}/${name}.${index}`);
    graph.node(`${prefix}/${name}`, 'Split', [value, ints(`${name}/sizes`, ...sizes)], {
      outputs,
      attributes: { axis: 2n },
    });
    return outputs;
  };
  const reshape = (name: string, value: string, ...dims: readonly number[]) =>
    graph.node(`${prefix}/${name}`, 'Reshape', [value, ints(`${name}/dims`, ...dims)]);
  const join = (name: string, axis: bigint, values: readonly string[]) =>
    graph.node(`${prefix}/${name}`, 'Concat', values, { attributes: { axis } });
  const normalize = (value: string, name: string, size: number) => {
    const tensor = ofLayer(config.family, layer, name);
    const weight = ops.norms.weight(tensor, size);
    return emitRmsNorm(graph, `${tensor}/Norm`, value, weight, EPSILON);
  };
  const { tokenIds: rowsLike } = attention;

  const [first = '', compressed = '', turning = ''] = splitColumns(ops, input, [
    ['Queries', queryRank ?? numHeads * headDim],
    ['Latent', keyValueRank],
    ['Turning', rotaryDim],
  ]);
  const queries =
    layers.query === null || queryRank === null
      ? first
      : ops.linear(layers.query, { value: normalize(first, names.queryNorm, queryRank), rowsLike });
  const expanded = ops.linear(layers.keyValue, {
    value: normalize(compressed, names.keyValueNorm, keyValueRank),
    rowsLike,
  });
  // Halves of what turns, and of what does not, are each before a half of the other, as in queries.
  const still = stillDim / 2;
  const ofHeads = reshape('Expanded', expanded, -1, numHeads, stillDim + valueDim);
  const [before = '', after = '', values = ''] = split('Apart', ofHeads, [still, still, valueDim]);
  const shared = reshape('Shared', turning, -1, 1, rotaryDim);
  const repeated = graph.node(`${prefix}/Repeated`, 'Tile', [
    shared,
    ints('repeats', 1, numHeads, 1),
  ]);
  const [firsts = '', seconds = ''] = split('Halves', repeated, [rotaryDim / 2, rotaryDim / 2]);
  const keys = join('Keys', 2n, [firsts, before, seconds, after]);
  const missing = headDim - valueDim;
  const padded =
    missing === 0
      ? values
      : graph.node(`${prefix}/Padded`, 'Pad', [values, ints('pads', 0, 0, 0, 0, 0, missing)]);
  const both = join('Both', 1n, [keys, padded]);
  const rows = reshape('Rows', both, -1, 2 * numHeads * headDim);
  const attended = attention.attend(layer, join('All', 1n, [queries, rows]), null);
  if (missing === 0) return attended;
  const heads = reshape('Heads', attended, -1, numHeads, headDim);
  const [kept = ''] = split('Kept', heads, [valueDim, missing]);
  return reshape('Values', kept, -1, numHeads * valueDim);
}

function outputOf({ family }: DecoderConfig, layer: number): string {
  return ofLayer(family, layer, family.tensors.layer.attentionOutput);
}

function namesOf({ family }: Pick<DecoderConfig, 'family'>): LatentNames {
  if (family.latentAttention === undefined) throw new TypeError('no attention from latents');
  return family.latentAttention;
}
