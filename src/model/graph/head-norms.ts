import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { int64s } from '../../onnx/int64s.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { HeadNorms } from '../families/family.ts';
import { emitRmsNorm } from './rms-norm.ts';

/**
 * RMS normalization of queries and of keys, of each head by itself or of all heads together.
 * @param qkv [tokens, (heads + 2 kv_heads) * head_dim]
 * @param weights names of the norms' weights, [head_dim] each or of all heads' dimensions; null for no norms
 * @returns the name of a value of the same shape
 */
export function normalizeHeads(
  graph: GraphBuilder,
  { numHeads, numKvHeads, headDim, rmsNormEps }: DecoderConfig,
  qkv: string,
  weights: HeadNorms | null,
): string {
  if (weights === null) return qkv;
  const counts = [numHeads, numKvHeads, numKvHeads];
  const numAll = numHeads + 2 * numKvHeads;
  const normalizeParts = (value: string, sizes: readonly number[]): string => {
    const [query, key, rest] = [`${qkv}/Query`, `${qkv}/Key`, `${qkv}/Value`];
    graph.node(`${qkv}/Split`, 'Split', [value, int64s(graph, `${qkv}/Counts`, ...sizes)], {
      outputs: [query, key, rest],
      attributes: { axis: 1n },
    });
    const norm = (name: string, weight: string) =>
      emitRmsNorm(graph, `${name}/Norm`, name, weight, rmsNormEps);
    const parts = [norm(query, weights.query), norm(key, weights.key), rest];
    return graph.node(`${qkv}/Joined`, 'Concat', parts, { attributes: { axis: 1n } });
  };

  if (weights.over === 'all heads') {
    return normalizeParts(
      qkv,
      counts.map((count) => count * headDim),
    );
  }
  const byHead = int64s(graph, `${qkv}/ByHead`, -1, numAll, headDim);
  const flat = int64s(graph, `${qkv}/Flat`, -1, numAll * headDim);
  const heads = graph.node(`${qkv}/Heads`, 'Reshape', [qkv, byHead]);
  return graph.node(`${qkv}/Normalized`, 'Reshape', [normalizeParts(heads, counts), flat]);
}
