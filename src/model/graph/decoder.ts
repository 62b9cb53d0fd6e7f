import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { type HeadNorms, layerTensorNames } from '../families/family.ts';
import type { FloatType } from '../quantize/weight-format.ts';
import { emitActivation } from './activation.ts';
import { attentionLayers } from './attention-layers.ts';
import { declareSinks } from './attention-sinks.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { Addition, NormalizedInput, ResidualSum } from './decoder-values.ts';
import { addLogits, addPositions, declareHidden, scaleEmbedding } from './decoder-parts.ts';
import { expertsOf } from './expert-layers.ts';
import { emitExperts } from './experts.ts';
import { mlpLayers } from './mlp-layers.ts';
import { rotatingAttention } from './rotate-heads.ts';
import { declareRotaryTables } from './rotary-tables.ts';
import { emitXielu } from './xielu.ts';

/** Adds attention to a graph with rotary tables, over values of a type. */
type AddAttention = (graph: GraphBuilder, type: FloatType) => DecoderAttention;

/**
 * A decoder, from token ids to logits, made of `ops`, which serve one graph. What sets a family apart
 * stands here or in what this calls, for all kernels at once.
 */
export function decoderGraph(ops: DecoderOps, addAttention: AddAttention): GraphBuilder {
  const { graph, config, weights, type, observer } = ops;
  graph.input('logits_index', 'int64', ['wanted']);
  declareRotaryTables(graph, config, type);
  declareSinks(graph, config, weights, type);
  const attention = rotatingAttention(graph, config, addAttention(graph, type));

  const scaled = scaleEmbedding(graph, config, type, ops.embed(attention.tokenIds));
  let sum: ResidualSum = { sum: addPositions(graph, config, weights, type, scaled, attention) };
  for (let layer = 0; layer < config.numLayers; layer++) {
    observer?.boundary(layer, sum);
    sum = decoderLayer(ops, attention, layer, sum);
  }
  observer?.boundary(config.numLayers, sum);

  // The projection is linear, so the logits' scale can be the norm's.
  const last = ops.norm(config.family.tensors.finalNorm, sum, config.logitScale);
  addLogits(graph, config, weights, (name) => ops.project(name, last));
  ops.declareLogits(() => declareHidden(graph, config, type, ops.plain(last, 'hidden/Norm')));
  attention.declareOutputs();
  return graph;
}

function decoderLayer(
  ops: DecoderOps,
  attention: DecoderAttention,
  layer: number,
  start: ResidualSum,
): ResidualSum {
  const { config } = ops;
  const names = layerTensorNames(config.family, layer);
  const { queryKeyValue, output } = attentionLayers(config, layer);
  const prefix = `layers.${layer}`;
  const { tokenIds } = attention;
  const isLast = layer === config.numLayers - 1;
  const pick = isLast ? wantedRows(ops.graph) : (value: string) => value;
  const rowsLike = isLast ? 'logits_index' : tokenIds;

  const { sum: before, ...read } = ops.norm(names.attentionNorm, start);
  const qkv = ops.linear(queryKeyValue, { ...read, rowsLike: tokenIds });
  const attended = attention.attend(layer, qkv, headNorms(ops, names.headNorms));
  const afterAttention = ops.addLinear(
    output,
    { value: attended, rowsLike },
    { to: before, norm: names.attentionOutputNorm, prefix, pick },
  );

  const addition = { norm: names.mlpOutputNorm, prefix };
  if (!config.parallelResidual) {
    const { sum, ...normalized } = ops.norm(names.mlpNorm, afterAttention);
    return addMlp(ops, layer, { ...normalized, rowsLike }, { to: sum, ...addition });
  }
  const normalized =
    names.mlpNorm === null
      ? { ...read, value: pick(read.value) }
      : ops.norm(names.mlpNorm, { sum: pick(before.sum) });
  const { value, norm } = normalized;
  return addMlp(ops, layer, { value, norm, rowsLike }, { to: afterAttention, ...addition });
}

/** Adds a layer's MLP, or its experts, to the sum. */
function addMlp(
  ops: DecoderOps,
  layer: number,
  input: NormalizedInput,
  addition: Addition,
): ResidualSum {
  const { graph, config } = ops;
  const { family } = config;
  const experts = expertsOf(config, layer);
  if (experts !== null) {
    const value = ops.plain(input, `${layerTensorNames(family, layer).mlpNorm}/Norm`);
    const rows = { value, rowsLike: input.rowsLike };
    return ops.add(emitExperts(graph, config, experts, layer, rows, ops), addition);
  }
  const { first, down } = mlpLayers(config, layer);
  const value = family.gatesMlp
    ? ops.gated(first, input, `layers.${layer}.mlp`)
    : activate(ops, layer, ops.linear(first, input));
  return ops.addLinear(down, { value, rowsLike: input.rowsLike }, addition);
}

function activate({ graph, config, weights, type }: DecoderOps, layer: number, value: string) {
  const { activation: tensor } = layerTensorNames(config.family, layer);
  return tensor === null
    ? emitActivation(graph, value, config.activation)
    : emitXielu(graph, weights, type, tensor, value);
}

/** Adds the weights of norms of heads; returns their names. */
function headNorms({ norms, config }: DecoderOps, names: HeadNorms | null): HeadNorms | null {
  if (names === null) return null;
  const { numHeads, numKvHeads, headDim } = config;
  const [queries, keys] = names.over === 'head' ? [1, 1] : [numHeads, numKvHeads];
  return {
    over: names.over,
    isAfterRope: names.isAfterRope,
    query: norms.weight(names.query, queries * headDim),
    key: norms.weight(names.key, keys * headDim),
  };
}

/**
 * Picks, once for each value, the tokens whose logits are wanted: what follows the last attention then
 * costs the same for a prompt as for one token. [tokens, n] becomes [wanted, n].
 */
function wantedRows(graph: GraphBuilder): (value: string) => string {
  const picked = new Map<string, string>();
  return (value) => {
    const wanted =
      picked.get(value) ?? graph.node(`${value}/Wanted`, 'Gather', [value, 'logits_index']);
    picked.set(value, wanted);
    return wanted;
  };
}
