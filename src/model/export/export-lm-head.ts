import { type GraphRewriter, inputsOf } from '../../onnx/graph-rewriter.ts';
import type { NodeProto } from '../../onnx/onnx_pb.ts';

/** Matmuls with weights: what an LM head can be. */
const PRODUCTS: ReadonlySet<string> = new Set([
  'MatMul',
  'Gemm',
  'FusedMatMul',
  'MatMulNBits',
  'MatMulBnb4',
  'MatMulInteger',
  'MatMulIntegerToFloat',
  'DynamicQuantizeMatMul',
]);

/**
 * Operators that compute each token's values from that token alone, element by element or with a
 * constant.
 */
const TOKEN_WISE: ReadonlySet<string> = new Set([
  ...PRODUCTS,
  'Add',
  'Cast',
  'Clip',
  'Div',
  'DynamicQuantizeLinear',
  'Identity',
  'Mul',
  'Sub',
  'Tanh',
  'Where',
]);

/** Operators by which exports choose the tokens whose logits they compute. */
const CHOICES: ReadonlySet<string> = new Set(['Gather', 'Slice', 'Unsqueeze']);

/**
 * Has an export's logits, [batch, seq, vocab], computed for wanted tokens only: [wanted, vocab].
 * @param index int64 [wanted] among batch times seq tokens
 * @returns the names of the logits, and of the hidden states that the last matmul reads, [wanted, hidden],
 *   both of the export's own type; null where it is not known which these are
 */
export function pickLogits(
  graph: GraphRewriter,
  logits: string,
  index: string,
): { readonly logits: string; readonly hidden: string | null } {
  const { hidden, path } = lmHead(graph, logits);
  const flat = flatten(graph, 'lm_head/tokens', withoutChoice(graph, hidden));
  const wanted = graph.node('lm_head/wanted', 'Gather', [flat, index]);
  if (path.length === 0) return { logits: wanted, hidden: null };
  for (const node of path)
    node.input = node.input.map((input) => (input === hidden ? wanted : input));
  // A constant of more dimensions would bring its own to the result.
  const ranks = path.flatMap(({ input }) => input.map((value) => rankOf(graph, value)));
  const picked = Math.max(...ranks) > 2 ? flatten(graph, 'lm_head/flat', logits) : logits;
  return { logits: picked, hidden: wanted };
}

/** [batch, seq, n] to [batch * seq, n]. */
function flatten(graph: GraphRewriter, name: string, value: string): string {
  return graph.node(name, 'Flatten', [value], { attributes: { axis: -1n } });
}

/**
 * The hidden state that the last matmul reads, and the nodes from there to the logits. If one of
 * them is not known to work token by token: the logits themselves and no nodes.
 */
function lmHead(
  graph: GraphRewriter,
  logits: string,
): { readonly hidden: string; readonly path: readonly NodeProto[] } {
  const frontier = new Set([logits]);
  const path: NodeProto[] = [];
  for (const node of graph.needed([logits]).toReversed()) {
    const [hidden] = frontier;
    if (hidden !== undefined && frontier.size === 1 && path.some(isProduct))
      return { hidden, path };
    if (!node.output.some((output) => frontier.has(output))) continue;
    if (!TOKEN_WISE.has(node.opType)) break;
    path.push(node);
    for (const output of node.output) frontier.delete(output);
    for (const input of inputsOf(node)) if (graph.isDynamic(input)) frontier.add(input);
  }
  return { hidden: logits, path: [] };
}

function isProduct({ opType }: NodeProto): boolean {
  return PRODUCTS.has(opType);
}

/** If an export chooses tokens: the value with all of them. */
function withoutChoice(graph: GraphRewriter, value: string): string {
  const node = graph.producer(value);
  const [from] = node?.input ?? [];
  if (!node || from === undefined || !CHOICES.has(node.opType)) return value;
  return withoutChoice(graph, from);
}

/** Dimensions of a constant; 0 for other values. */
function rankOf(graph: GraphRewriter, value: string): number {
  return graph.constant(value)?.dims.length ?? 0;
}
