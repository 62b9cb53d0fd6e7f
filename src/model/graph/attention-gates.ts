import type { DecoderOps } from './decoder-ops.ts';
import { splitColumns } from './recurrence.ts';

/**
 * Attention, and what gates its output where the family has that: sigmoids of as many values as queries have,
 * which come before these.
 * @param input [tokens, (heads + 2 kv_heads) * head_dim], with gates heads * head_dim more
 */
export function gateAttention(
  ops: DecoderOps,
  input: string,
  attend: (qkv: string) => string,
): string {
  const { family, numHeads, numKvHeads, headDim } = ops.config;
  if (family.gatesAttention !== true) return attend(input);
  const [gates = '', qkv = ''] = splitColumns(ops, input, [
    ['Gates', numHeads * headDim],
    ['Gated', (numHeads + 2 * numKvHeads) * headDim],
  ]);
  const attended = attend(qkv);
  const shares = ops.graph.node(`${gates}/Sigmoid`, 'Sigmoid', [gates]);
  return ops.graph.node(`${attended}/Gated`, 'Mul', [attended, shares]);
}
