import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { SafetensorsWeights } from '../huggingface/safetensors.ts';
import { cast } from '../quantize/float-matrix.ts';
import { transposeInto } from '../huggingface/transpose.ts';
import type { DenseLayer, Pooling, SentenceModules } from './sentence-modules.ts';

/** Steps after the transformer. */
export type SentenceHead = Pick<SentenceModules, 'pooling' | 'dense' | 'normalize'>;

/** The vectors of texts' tokens. */
export interface TokenVectors {
  /** float [batch, seq, width] */
  readonly hidden: string;
  /** int64 [batch, seq]; a text stands at the left of its row. */
  readonly mask: string;
  readonly width: number;
}

/** How many dimensions a vector has. @param width of a token's */
export function vectorDim({ pooling, dense }: SentenceHead, width: number): number {
  return dense.at(-1)?.outFeatures ?? pooling.length * width;
}

/**
 * A graph of the head alone, for exports that end with the vectors of tokens.
 * Inputs: `hidden` float [batch, seq, width] and `attention_mask` int64 [batch, seq].
 * Output: `embedding` float [batch, dim].
 */
export async function buildHeadGraph(head: SentenceHead, width: number): Promise<GraphBuilder> {
  const graph = new GraphBuilder('sentence_head');
  const hidden = graph.input('hidden', 'float', ['batch', 'seq', width]);
  const mask = graph.input('attention_mask', 'int64', ['batch', 'seq']);
  await emitHead(graph, head, { hidden, mask, width });
  return graph;
}

/** Adds the output `embedding` float [batch, dim]. */
export async function emitHead(
  graph: GraphBuilder,
  { pooling, dense, normalize }: SentenceHead,
  tokens: TokenVectors,
): Promise<void> {
  const pooled = emitPooling(graph, pooling, tokens);
  await emitVectors(graph, 'embedding', { dense, normalize }, pooled);
  const dim = vectorDim({ pooling, dense, normalize }, tokens.width);
  graph.output('embedding', 'float', ['batch', dim]);
}

/** Steps after pooling, of texts or of tokens: [..., width] becomes [..., dim]. */
export async function emitVectors(
  graph: GraphBuilder,
  name: string,
  { dense, normalize }: Omit<SentenceHead, 'pooling'>,
  input: string,
): Promise<string> {
  let vector = input;
  for (const [index, layer] of dense.entries()) {
    vector = await emitDense(graph, `dense.${index}`, layer, vector);
  }
  const attributes = { axis: -1n, p: 2n };
  const opType = normalize ? 'LpNormalization' : 'Identity';
  return graph.node(name, opType, [vector], normalize ? { attributes } : {});
}

/** The vector of each text, [batch, width] for each way of pooling. */
export function emitPooling(
  graph: GraphBuilder,
  pooling: readonly Pooling[],
  { hidden, mask }: Pick<TokenVectors, 'hidden' | 'mask'>,
): string {
  const along = graph.initializer('pooling/along', 'int64', [1], BigInt64Array.of(1n));
  const isToken = cast(graph, 'pooling/is_token', mask, 'float');
  const length = graph.node('pooling/length', 'ReduceSum', [isToken, along]);
  const parts = pooling.map((mode) => {
    const name = `pooling/${mode}`;
    if (mode === 'max') return emitMax(graph, name, { hidden, mask, along });
    const weights = emitTokenWeights(graph, mode, { isToken, length });
    const row = graph.node(`${name}/row`, 'Unsqueeze', [weights, along]);
    const sum = graph.node(`${name}/sum`, 'MatMul', [row, hidden]);
    return graph.node(name, 'Squeeze', [sum, along]);
  });
  const [only = ''] = parts;
  if (parts.length === 1) return only;
  return graph.node('pooling', 'Concat', parts, { attributes: { axis: -1n } });
}

interface Lengths {
  /** float [batch, seq] */
  readonly isToken: string;
  /** float [batch, 1] */
  readonly length: string;
}

/** By what a text's tokens are weighed: all but the largest of them is a sum. */
function emitTokenWeights(
  graph: GraphBuilder,
  mode: Exclude<Pooling, 'max'>,
  { isToken, length }: Lengths,
): string {
  const name = `pooling/${mode}/weights`;
  if (mode === 'mean') return graph.node(name, 'Div', [isToken, length]);
  if (mode === 'mean_sqrt_len') {
    return graph.node(name, 'Div', [isToken, graph.node(`${name}/root`, 'Sqrt', [length])]);
  }
  const axis = graph.initializer(`${name}/axis`, 'int64', [], BigInt64Array.of(1n));
  const place = graph.node(`${name}/place`, 'CumSum', [isToken, axis]);
  const one = graph.initializer(`${name}/one`, 'float', [1], Float32Array.of(1));
  const wanted = mode === 'cls' ? one : length;
  const isThere = graph.node(`${name}/is_there`, 'Equal', [place, wanted]);
  // Padding after the last token has its place, too.
  const found = cast(graph, `${name}/found`, isThere, 'float');
  return graph.node(name, 'Mul', [found, isToken]);
}

function emitMax(
  graph: GraphBuilder,
  name: string,
  { hidden, mask, along }: { hidden: string; mask: string; along: string },
): string {
  const last = graph.initializer(`${name}/last`, 'int64', [1], BigInt64Array.of(-1n));
  const none = graph.initializer(`${name}/none`, 'int64', [1], BigInt64Array.of(0n));
  const low = graph.initializer(`${name}/low`, 'float', [1], Float32Array.of(-3.4e38));
  const isToken = graph.node(`${name}/is_token`, 'Greater', [mask, none]);
  const column = graph.node(`${name}/column`, 'Unsqueeze', [isToken, last]);
  const kept = graph.node(`${name}/kept`, 'Where', [column, hidden, low]);
  return graph.node(name, 'ReduceMax', [kept, along], { attributes: { keepdims: 0n } });
}

async function emitDense(
  graph: GraphBuilder,
  name: string,
  { file, inFeatures, outFeatures, bias, activation }: DenseLayer,
  input: string,
): Promise<string> {
  const weights = await SafetensorsWeights.open([file]);
  try {
    const matrix = await weights.get('linear.weight', [outFeatures, inFeatures]);
    const transposed = new Float32Array(matrix.length);
    transposeInto(matrix, outFeatures, inFeatures, transposed, outFeatures, 0);
    const shape = [inFeatures, outFeatures];
    const weight = graph.initializer(`${name}.weight`, 'float', shape, transposed);
    let output = graph.node(`${name}/MatMul`, 'MatMul', [input, weight]);
    if (bias) {
      const values = await weights.get('linear.bias', [outFeatures]);
      const added = graph.initializer(`${name}.bias`, 'float', [outFeatures], values);
      output = graph.node(`${name}/Add`, 'Add', [output, added]);
    }
    return activation === 'identity' ? output : emitActivation(graph, name, activation, output);
  } finally {
    await weights.close();
  }
}

const ACTIVATIONS = { tanh: 'Tanh', relu: 'Relu', gelu: 'Gelu' } as const;

function emitActivation(
  graph: GraphBuilder,
  name: string,
  activation: keyof typeof ACTIVATIONS,
  input: string,
): string {
  return graph.node(`${name}/Activation`, ACTIVATIONS[activation], [input]);
}
