import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { int64s } from '../../onnx/int64s.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { HeadNorms } from '../families/family.ts';
import { emitNorm } from './norm.ts';

/** Names of the weights of norms of queries and keys: [head_dim] each, or of all heads' dimensions. */
export interface HeadNormWeights extends HeadNorms {
  /** Factors after such norms where each head has weights of its own: [heads, head_dim] each. */
  readonly factors?: { readonly query: string; readonly key: string };
}

/**
 * Normalization of queries and of keys, of each head by itself or of all heads together.
 * @param qkv [tokens, (heads + 2 kv_heads) * head_dim]
 * @param weights null for no norms
 * @returns the name of a value of the same shape
 */
export function normalizeHeads(
  graph: GraphBuilder,
  { family, numHeads, numKvHeads, headDim, rmsNormEps }: DecoderConfig,
  qkv: string,
  weights: HeadNormWeights | null,
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
    const { factors } = weights;
    const norm = (name: string, weight: string, factor: string | undefined) => {
      const even = emitNorm(graph, `${name}/Norm`, name, [weight], family, rmsNormEps);
      return factor === undefined ? even : graph.node(`${name}/Scaled`, 'Mul', [even, factor]);
    };
    const normalized = [
      norm(query, weights.query, factors?.query),
      norm(key, weights.key, factors?.key),
    ];
    const parts = [...normalized, rest];
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
