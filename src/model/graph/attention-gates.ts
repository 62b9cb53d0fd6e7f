import { numGates } from '../huggingface/layer-heads.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { splitColumns } from './recurrence.ts';

/**
 * Attention, and what gates its output where the family has that: sigmoids of values that come before queries,
 * as many as these have, or one for each head.
 * @param input [tokens, gates + (heads + 2 kv_heads) * head_dim]
 */
export function gateAttention(
  ops: DecoderOps,
  input: string,
  attend: (qkv: string) => string,
): string {
  const { config, graph } = ops;
  const { family, numHeads, numKvHeads, headDim } = config;
  const count = numGates(config);
  if (count === 0) return attend(input);
  const [gates = '', qkv = ''] = splitColumns(ops, input, [
    ['Gates', count],
    ['Gated', (numHeads + 2 * numKvHeads) * headDim],
  ]);
  const attended = attend(qkv);
  const shares = graph.node(`${gates}/Sigmoid`, 'Sigmoid', [gates]);
  if (family.attentionGates?.per !== 'head') {
    return graph.node(`${attended}/Gated`, 'Mul', [attended, shares]);
  }
  const shaped = (value: string, last: readonly number[]) => {
    const sizes = BigInt64Array.from([-1, ...last], BigInt);
    const shape = graph.initializer(`${value}/shape`, 'int64', [sizes.length], sizes);
    return graph.node(`${value}/Shaped`, 'Reshape', [value, shape]);
  };
  const heads = shaped(attended, [numHeads, headDim]);
  const gated = graph.node(`${attended}/Gated`, 'Mul', [heads, shaped(shares, [numHeads, 1])]);
  return shaped(gated, [numHeads * headDim]);
}
