import type { GraphBuilder } from '../onnx/graph-builder.ts';
import type { DecoderConfig } from './config.ts';
import { emitRmsNorm } from './rms-norm.ts';

/** Weights of the norms of query heads and of key heads, [head_dim] each. */
export interface HeadNormWeights {
  readonly query: string;
  readonly key: string;
}

/**
 * RMS normalization of each query head and each key head by itself.
 * @param qkv [tokens, (heads + 2 kv_heads) * head_dim]
 * @returns the name of a value of the same shape
 */
export function normalizeHeads(
  graph: GraphBuilder,
  { numHeads, numKvHeads, headDim, rmsNormEps }: DecoderConfig,
  qkv: string,
  weights: HeadNormWeights,
): string {
  const counts = [numHeads, numKvHeads, numKvHeads];
  const numAll = numHeads + 2 * numKvHeads;
  const int64s = (name: string, values: readonly number[]) =>
    graph.initializer(name, 'int64', [values.length], BigInt64Array.from(values, BigInt));
  const byHead = int64s(`${qkv}/ByHead`, [-1, numAll, headDim]);
  const flat = int64s(`${qkv}/Flat`, [-1, numAll * headDim]);
  const sizes = int64s(`${qkv}/Counts`, counts);

  const heads = graph.node(`${qkv}/Heads`, 'Reshape', [qkv, byHead]);
  const [query, key, value] = [`${qkv}/Query`, `${qkv}/Key`, `${qkv}/Value`];
  graph.node(`${qkv}/Split`, 'Split', [heads, sizes], {
    outputs: [query, key, value],
    attributes: { axis: 1n },
  });
  const norm = (name: string, weight: string) =>
    emitRmsNorm(graph, `${name}/Norm`, name, weight, rmsNormEps);
  const parts = [norm(query, weights.query), norm(key, weights.key), value];
  const joined = graph.node(`${qkv}/Joined`, 'Concat', parts, { attributes: { axis: 1n } });
  return graph.node(`${qkv}/Normalized`, 'Reshape', [joined, flat]);
}
