import { int64s } from '../../onnx/int64s.ts';
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
  const shaped = (value: string, last: readonly number[]) =>
    graph.node(`${value}/Shaped`, 'Reshape', [value, int64s(graph, `${value}/shape`, -1, ...last)]);
  const heads = shaped(attended, [numHeads, headDim]);
  const gated = graph.node(`${attended}/Gated`, 'Mul', [heads, shaped(shares, [numHeads, 1])]);
  return shaped(gated, [numHeads * headDim]);
}
