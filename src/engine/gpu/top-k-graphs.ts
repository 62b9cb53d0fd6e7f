import { GraphBuilder } from '../../onnx/graph-builder.ts';

/** Each row's likeliest token and its logit. */
export function bestGraph(vocabSize: number): Uint8Array {
  const graph = logitsGraph('best', vocabSize);
  const axes = graph.initializer('axes', 'int64', [1], BigInt64Array.of(-1n));
  graph.node('best_ids', 'ArgMax', ['logits'], { attributes: { axis: -1n, keepdims: 0n } });
  graph.node('best_logits', 'ReduceMax', ['logits', axes], { attributes: { keepdims: 0n } });
  graph.output('best_ids', 'int64', ['rows']);
  graph.output('best_logits', 'float', ['rows']);
  return graph.toBytes();
}

/**
 * Each row's likeliest tokens, best first, their logits, and the sum over the vocabulary of
 * exp((logit - best logit) / temperature): the log-sum-exp, less the best logit's part.
 */
export function candidatesGraph(vocabSize: number, numCandidates: number): Uint8Array {
  const graph = logitsGraph('candidates', vocabSize);
  graph.input('inverse_temperature', 'float', ['rows', 1]);
  const count = graph.initializer('count', 'int64', [1], BigInt64Array.of(BigInt(numCandidates)));
  const axes = graph.initializer('axes', 'int64', [1], BigInt64Array.of(-1n));
  graph.node('candidates', 'TopK', ['logits', count], {
    outputs: ['candidate_logits', 'candidate_ids'],
    attributes: { axis: -1n, largest: 1n, sorted: 1n },
  });
  const best = graph.node('best', 'ReduceMax', ['logits', axes], { attributes: { keepdims: 1n } });
  const below = graph.node('below', 'Sub', ['logits', best]);
  const scaled = graph.node('scaled', 'Mul', [below, 'inverse_temperature']);
  const weights = graph.node('weights', 'Exp', [scaled]);
  graph.node('total_weight', 'ReduceSum', [weights, axes], { attributes: { keepdims: 1n } });
  graph.output('candidate_logits', 'float', ['rows', numCandidates]);
  graph.output('candidate_ids', 'int64', ['rows', numCandidates]);
  graph.output('total_weight', 'float', ['rows', 1]);
  return graph.toBytes();
}

/** The whole logits of some rows. */
export function rowsGraph(vocabSize: number): Uint8Array {
  const graph = logitsGraph('rows', vocabSize);
  graph.input('rows', 'int64', ['wanted']);
  graph.node('picked', 'Gather', ['logits', 'rows']);
  graph.output('picked', 'float', ['wanted', vocabSize]);
  return graph.toBytes();
}

function logitsGraph(name: string, vocabSize: number): GraphBuilder {
  const graph = new GraphBuilder(name);
  graph.input('logits', 'float', ['rows', vocabSize]);
  return graph;
}
