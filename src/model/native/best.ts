import { type GraphBuilder, NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';

/** Output of graphs of native/: int32 [wanted], the id of each row's highest logit, or -1. */
export const BEST_OUTPUT = 'best';

/** Adds it, after the logits. */
export function emitBest(graph: GraphBuilder, vocabSize: number): void {
  graph.node('lm_head/Best', 'Best', ['logits'], {
    domain: NATIVE_DOMAIN,
    outputs: [BEST_OUTPUT],
    attributes: { columns: BigInt(vocabSize) },
  });
  graph.output(BEST_OUTPUT, 'int32', ['wanted']);
}
