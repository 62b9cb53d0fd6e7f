/** Ends of an encoder's graph that pool nothing: scores of labels, weights of words, projections. */
import type { VocabularyMatrix } from '../graph/vocabulary-matrix.ts';
import type { EncoderOps } from './encoder-ops.ts';
import type { LabelsHead, ProjectionHead, WordsHead } from './encoder-shape.ts';
import { emitPooling } from './sentence-head.ts';

/** Output of sparse encoders. */
export const WORD_WEIGHTS = 'weights';

/** Vectors of a batch's tokens. */
interface PackedTokens {
  /** float [tokens, hidden] */
  readonly hidden: string;
  /** int64 [batch, seq] */
  readonly mask: string;
}

/** Adds the output `logits` float [batch, labels]. */
export function emitLabels(
  ops: EncoderOps,
  head: LabelsHead,
  { hidden, mask }: PackedTokens,
): void {
  const { graph } = ops;
  const pooled =
    head.pooling === 'first'
      ? graph.node('classifier/Token', 'Gather', [hidden, firstPlaces(ops)])
      : emitPooling(graph, ['mean'], {
          hidden: graph.node('classifier/Table', 'Gather', [hidden, 'padded']),
          mask,
        });
  const scores = ops.dense(ops.transform(pooled, head), head.out, head.numLabels, true);
  graph.node('logits', 'Identity', [scores]);
  graph.output('logits', 'float', ['batch', head.numLabels]);
}

/**
 * Adds the output `weights` float [batch, vocab] as SPLADE has it: the largest of all tokens' logits of
 * a word, where that is above 0, as log(1 + logit).
 */
export function emitWords(
  ops: EncoderOps,
  head: WordsHead,
  { hidden, mask }: PackedTokens,
  words: VocabularyMatrix,
  vocabSize: number,
): void {
  const { graph } = ops;
  const logits = 'words/logits';
  words.project(ops.transform(ownTokens(ops, hidden, mask), head), logits);
  const shape = graph.node('words/Shape', 'Shape', ['padded']);
  const sizes = [shape, ops.int64s('words/size', vocabSize)];
  const whole = graph.node('words/Sizes', 'Concat', sizes, { attributes: { axis: 0n } });
  const table = graph.node('words/Table', 'Reshape', [logits, whole]);
  const along = ops.int64s('words/along', 1);
  const largest = graph.node('words/Largest', 'ReduceMax', [table, along], {
    attributes: { keepdims: 0n },
  });
  // All tokens of a word have the same bias.
  const scores = graph.node('words/Scores', 'Add', [
    largest,
    ops.tensor(head.outBias, [vocabSize]),
  ]);
  const positive = graph.node('words/Positive', 'Relu', [scores]);
  const above = graph.node('words/Above', 'Add', [positive, ops.float('words/one', 1)]);
  graph.node(WORD_WEIGHTS, 'Log', [above]);
  graph.output(WORD_WEIGHTS, 'float', ['batch', vocabSize]);
}

/** Adds the output `embedding` float [batch, dim], of the last token of each text. */
export function emitProjection(ops: EncoderOps, head: ProjectionHead, hidden: string): void {
  const { graph } = ops;
  const ends = graph.node('projection/Ends', 'CumSum', [
    'lengths',
    ops.int64('projection/axis', 0),
  ]);
  const one = graph.initializer('projection/one', 'int32', [], Int32Array.of(1));
  const places = graph.node('projection/Places', 'Sub', [ends, one]);
  const last = graph.node('projection/Last', 'Gather', [hidden, places]);
  emitUnit(ops, 'embedding', ops.dense(last, head.tensor, head.outFeatures, head.bias));
  graph.output('embedding', 'float', ['batch', head.outFeatures]);
}

/** Vectors of length 1. */
export function emitUnit({ graph }: EncoderOps, name: string, vectors: string): string {
  return graph.node(name, 'LpNormalization', [vectors], { attributes: { axis: -1n, p: 2n } });
}

/** Rows of the batch as a table, [batch * seq, hidden], with a text's first token in place of padding. */
function ownTokens(ops: EncoderOps, hidden: string, mask: string): string {
  const { graph } = ops;
  const isToken = graph.node('words/IsToken', 'Greater', [mask, ops.int64('words/none', 0)]);
  const column = ops.int64s('words/column', 1);
  const first = graph.node('words/First', 'Unsqueeze', [firstPlaces(ops), column]);
  const places = graph.node('words/Places', 'Where', [isToken, 'padded', first]);
  const flat = graph.node('words/Flat', 'Reshape', [places, ops.int64s('words/flat', -1)]);
  return graph.node('words/Tokens', 'Gather', [hidden, flat]);
}

/** int64 [batch]: the place of each text's first token. */
function firstPlaces(ops: EncoderOps): string {
  return ops.graph.node('head/First', 'Gather', ['padded', ops.int64('head/first', 0)], {
    attributes: { axis: 1n },
  });
}
