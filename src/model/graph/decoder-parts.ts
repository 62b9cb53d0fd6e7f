import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { cast, floatInitializer, scalar } from '../quantize/float-matrix.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import type { FloatType } from '../quantize/weight-format.ts';
import type { DecoderAttention } from './decoder-attention.ts';

/** Name of a decoder's output of hidden states; a graph may lack it. */
export const HIDDEN_OUTPUT = 'hidden';
/** Name of its output of those of all tokens. */
export const ALL_HIDDEN_OUTPUT = 'hidden_states';

/** Adds what embeddings are multiplied by, if anything. */
export function scaleEmbedding(
  graph: GraphBuilder,
  { embeddingScale }: DecoderConfig,
  type: FloatType,
  embedded: string,
): string {
  if (embeddingScale === 1) return embedded;
  const scale = scalar(graph, 'embedding/scale', type, embeddingScale);
  return graph.node('embedding/Scaled', 'Mul', [embedded, scale]);
}

/** Adds the embeddings of positions to those of tokens, if the family has any. */
export function addPositions(
  graph: GraphBuilder,
  { family, maxPositionEmbeddings, hiddenSize }: DecoderConfig,
  weights: WeightSource,
  type: FloatType,
  embedded: string,
  attention: Pick<DecoderAttention, 'positions'>,
): string {
  const { positions: tensor, firstPosition } = family.tensors;
  if (tensor === null) return embedded;
  const name = `${tensor}.weight`;
  const shape = [maxPositionEmbeddings, hiddenSize];
  const table = floatInitializer(graph, name, shape, type, async () => {
    const stored = await weights.get(name, [firstPosition + maxPositionEmbeddings, hiddenSize]);
    return stored.subarray(firstPosition * hiddenSize);
  });
  const places = graph.node('positions/Gather', 'Gather', [table, attention.positions()]);
  return graph.node('positions/Sum', 'Add', [embedded, places]);
}

/** Whether logits are the LM head's product, and nothing comes after it. */
export function areLogitsProduct({ logitSoftcap, lmHeadBias }: DecoderConfig): boolean {
  return logitSoftcap === null && !lmHeadBias;
}

/** Adds the logits: what `project` adds under a name, with a bias and capped if the model has that. */
export function addLogits(
  graph: GraphBuilder,
  { logitSoftcap, lmHeadBias, family, vocabSize }: DecoderConfig,
  weights: WeightSource,
  project: (name: string) => void,
): void {
  const uncapped = logitSoftcap === null ? 'logits' : 'lm_head/Uncapped';
  project(lmHeadBias ? 'lm_head/Product' : uncapped);
  if (lmHeadBias) {
    const name = `${family.tensors.lmHead}.bias`;
    const load = () => weights.get(name, [vocabSize]);
    const bias = floatInitializer(graph, name, [vocabSize], 'float', load);
    graph.node('lm_head/Add', 'Add', ['lm_head/Product', bias], { outputs: [uncapped] });
  }
  if (logitSoftcap === null) return;
  const cap = scalar(graph, 'lm_head/cap', 'float', logitSoftcap);
  const share = graph.node('lm_head/Share', 'Div', [uncapped, cap]);
  const capped = graph.node('lm_head/Tanh', 'Tanh', [share]);
  graph.node('lm_head/Capped', 'Mul', [capped, cap], { outputs: ['logits'] });
}

/**
 * Adds an output of hidden states [rows, hidden], `hidden` of the wanted rows: what the last norm gives. A
 * run that does not ask for it brings it nowhere.
 * @param normalized what the norm gives, times the logits' scale
 */
export function declareHidden(
  graph: GraphBuilder,
  { hiddenSize, logitScale }: DecoderConfig,
  type: FloatType,
  normalized: string,
  [output, rows]: readonly [output: string, rows: string] = [HIDDEN_OUTPUT, 'wanted'],
): void {
  let hidden = normalized;
  if (logitScale !== 1) {
    const scale = scalar(graph, `${output}/scale`, type, logitScale);
    hidden = graph.node(`${output}/Unscaled`, 'Div', [normalized, scale]);
  }
  cast(graph, output, hidden, 'float');
  graph.output(output, 'float', [rows, hiddenSize]);
}
