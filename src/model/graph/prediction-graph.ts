import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { PredictionForm } from '../families/prediction.ts';
import { cast } from '../quantize/float-matrix.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { addLogits, declareHidden, scaleEmbedding } from './decoder-parts.ts';
import { type AddAttention, decoderLayer } from './decoder.ts';
import { rotatingAttention } from './rotate-heads.ts';
import { declareRotaryTables } from './rotary-tables.ts';

/** Name of the input of hidden states, float [tokens, hidden]. */
export const PREVIOUS_HIDDEN = 'previous_hidden';

/**
 * The module that predicts, with the inputs and outputs of a decoder whose only layer is the last one of its config:
 * at a position it reads the hidden state there and the token after it. `hidden` is what the next prediction takes in
 * place of the model's.
 */
export function predictionGraph(
  ops: DecoderOps,
  addAttention: AddAttention,
  form: PredictionForm,
): GraphBuilder {
  const { graph, config, weights, type } = ops;
  graph.input('logits_index', 'int64', ['wanted']);
  const hidden = graph.input(PREVIOUS_HIDDEN, 'float', ['tokens', config.hiddenSize]);
  declareRotaryTables(graph, config, type);
  const attention = rotatingAttention(graph, config, addAttention(graph, type));
  const embedded = scaleEmbedding(graph, config, type, ops.embed(attention.tokenIds));
  const both = [
    ops.norms.plain(
      form.embeddingNorm,
      form.masksFirst ? masked(ops, attention, embedded) : embedded,
    ),
    ops.norms.plain(form.hiddenNorm, cast(graph, `${PREVIOUS_HIDDEN}/Cast`, hidden, type)),
  ];
  const joined = graph.node('prediction/Both', 'Concat', inOrder(both, form), {
    attributes: { axis: -1n },
  });
  const layer = config.numLayers - 1;
  const { hiddenSize } = config;
  const projection = {
    name: `layers.${layer}.joined`,
    inFeatures: 2 * hiddenSize,
    parts: [{ tensor: form.joined, outFeatures: hiddenSize }],
    bias: false,
  };
  const sum = ops.linear(projection, { value: joined, rowsLike: attention.tokenIds });
  const after = decoderLayer(ops, { attention, cross: null }, layer, { sum });

  const last = ops.norm(form.finalNorm, after, config.logitScale);
  addLogits(graph, config, weights, (name) => ops.project(name, last));
  ops.declareLogits(() => {
    if (form.passesOn === 'normalized') {
      declareHidden(graph, config, type, ops.plain(last, 'hidden/Norm'));
    } else declareHidden(graph, { ...config, logitScale: 1 }, type, last.sum.sum);
  });
  attention.declareOutputs();
  return graph;
}

function inOrder(both: readonly string[], { order }: PredictionForm): readonly string[] {
  return order === 'embedding first' ? both : both.toReversed();
}

/** Embeddings [tokens, hidden], with zeros at the first position. */
function masked(
  { graph, type }: DecoderOps,
  attention: DecoderAttention,
  embedded: string,
): string {
  const zero = graph.initializer('prediction/zero', 'int64', [1], BigInt64Array.of(0n));
  const axis = graph.initializer('prediction/axis', 'int64', [1], BigInt64Array.of(1n));
  const isLater = graph.node('prediction/Later', 'Greater', [attention.positions(), zero]);
  const factor = cast(graph, 'prediction/Factor', isLater, type);
  const column = graph.node('prediction/Column', 'Unsqueeze', [factor, axis]);
  return graph.node('prediction/Masked', 'Mul', [embedded, column]);
}
