import { type GraphBuilder, NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';

/** Output of graphs of native/: int32 [wanted], the id of each row's highest logit, or -1. */
export const BEST_OUTPUT = 'best';

/**
 * Input of graphs whose last product finds the likeliest tokens: int32 []; where it is 0, `logits` has no
 * rows, and logits are written nowhere.
 */
export const WANTS_LOGITS = 'wants_logits';

export function declareBest(graph: GraphBuilder): void {
  graph.output(BEST_OUTPUT, 'int32', ['wanted']);
}

/** Finds them in logits that something comes after the product of. */
export function emitBest(graph: GraphBuilder, vocabSize: number): void {
  graph.node('lm_head/Best', 'Best', ['logits'], {
    domain: NATIVE_DOMAIN,
    outputs: [BEST_OUTPUT],
    attributes: { columns: BigInt(vocabSize) },
  });
}
