import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { layerTensorNames } from '../families/family.ts';
import type { FloatType } from '../quantize/weight-format.ts';
import { emitActivation } from './activation.ts';
import { completedAttention } from './attention-values.ts';
import { declareSinks } from './attention-sinks.ts';
import { type CrossAttention, crossAttention } from './cross-attention.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { declareStateInputs, declareStateOutputs } from './decoder-states.ts';
import type { Addition, NormalizedInput, ResidualSum } from './decoder-values.ts';
import {
  addLogits,
  addPositions,
  ALL_HIDDEN_OUTPUT,
  declareHidden,
  scaleEmbedding,
} from './decoder-parts.ts';
import { expertsOf } from './expert-layers.ts';
import { emitBoth } from './experts-beside-mlp.ts';
import { emitExperts } from './experts.ts';
import { firstWithoutKeys, hasMlp } from './layer-kinds.ts';
import { emitLayerInputs, endLayer } from './layer-inputs.ts';
import { emitSparseGates } from './sparse-gates.ts';
import { addResidual, alternatingStreams } from './streams.ts';
import { mixTokens } from './mix-tokens.ts';
import { type Mixer, mixersOf } from './mixer-layers.ts';
import { mlpLayers } from './mlp-layers.ts';
import { promptEmbeddings } from './prompt-embeddings.ts';
import { rotatingAttention } from './rotate-heads.ts';
import { declareRotaryTables } from './rotary-tables.ts';
import { emitXielu } from './xielu.ts';

/** Adds attention to a graph with rotary tables, over values of a type. */
export type AddAttention = (graph: GraphBuilder, type: FloatType) => DecoderAttention;

/**
 * A decoder, from token ids to logits, made of `ops`, which serve one graph. What sets a family apart
 * stands here or in what this calls, for all kernels at once.
 * @param takesEmbeddings adds inputs for rows in place of tokens
 */
export function decoderGraph(
  ops: DecoderOps,
  addAttention: AddAttention,
  takesEmbeddings = false,
): GraphBuilder {
  const { graph, config, weights, type, observer } = ops;
  graph.input('logits_index', 'int64', ['wanted']);
  declareRotaryTables(graph, config, type);
  declareSinks(graph, config, weights, type);
  const rotating = rotatingAttention(graph, config, addAttention(graph, type));
  const whole = completedAttention(ops, rotating);
  const cross = config.crossPositions === undefined ? null : crossAttention(ops, whole);
  const attention = cross?.attention ?? whole;
  declareStateInputs(graph, config, type, attention.groups);

  const scaled = scaleEmbedding(graph, config, type, ops.embed(attention.tokenIds));
  const isPlaced = takesEmbeddings && cross === null;
  const embeddings = isPlaced ? promptEmbeddings(graph, config) : null;
  const embedded = embeddings?.place(scaled) ?? scaled;
  const inputs = emitLayerInputs(ops, attention.tokenIds, embedded);
  const placed = addPositions(graph, config, weights, type, embedded, attention);
  const streams = alternatingStreams(ops);
  let sum: ResidualSum = streams?.spread({ value: placed, rowsLike: attention.tokenIds }) ?? {
    sum: placed,
  };
  const wanted = wantedRows(graph, 'logits_index');
  const firstPicked = firstWithoutKeys(config);
  for (let layer = 0; layer < config.numLayers; layer++) {
    observer?.boundary(layer, sum);
    if (layer === firstPicked) sum = { sum: wanted(ops.norm(null, sum).value) };
    const own = inputs?.[layer] ?? null;
    const isPicked = layer >= firstPicked;
    const input = own !== null && isPicked ? wanted(own) : own;
    if (streams !== null && input !== null) {
      const given = { value: input, rowsLike: isPicked ? 'logits_index' : attention.tokenIds };
      const add = (active: ResidualSum) => decoderLayer(ops, { attention, cross }, layer, active);
      sum = streams.layer(layer, sum, given, add);
    } else sum = decoderLayer(ops, { attention, cross, input }, layer, sum);
    sum = embeddings?.deepen(layer, sum) ?? sum;
  }
  sum = streams?.merge(sum, 'logits_index') ?? sum;
  observer?.boundary(config.numLayers, sum);

  // The projection is linear, so the logits' scale can be the norm's.
  const { value, norm } = ops.norm(config.family.tensors.finalNorm, sum, config.logitScale);
  const picked = config.keepsRows ? wanted(value) : value;
  const last = { value: picked, norm };
  addLogits(graph, config, weights, (name) => ops.project(name, last));
  ops.declareLogits(() => declareHidden(graph, config, type, ops.plain(last, 'hidden/Norm')));
  if (config.keepsRows) {
    const all = ops.plain({ value, norm }, `${ALL_HIDDEN_OUTPUT}/Norm`);
    declareHidden(graph, config, type, all, [ALL_HIDDEN_OUTPUT, 'tokens']);
  }
  attention.declareOutputs();
  declareStateOutputs(graph, config);
  return graph;
}

/** Inputs of a layer beside the sum. */
interface LayerContext {
  readonly attention: DecoderAttention;
  /** To an encoder's output, after the text; null where there is none. */
  readonly cross: CrossAttention | null;
  /** Its part of emitLayerInputs, of the same rows as the sum; null or left out if there is none. */
  readonly input?: string | null;
}

/**
 * Adds a layer, what is left of the last one after attention of the wanted rows alone.
 * @param start of these alone from `firstWithoutKeys` on
 */
export function decoderLayer(
  ops: DecoderOps,
  { attention, cross, input: ownInput = null }: LayerContext,
  layer: number,
  start: ResidualSum,
): ResidualSum {
  const { config } = ops;
  const names = layerTensorNames(config.family, layer);
  const prefix = `layers.${layer}`;
  const { tokenIds } = attention;
  const isPicked = layer >= firstWithoutKeys(config);
  const isLast = layer === config.numLayers - 1 && !config.keepsRows;
  const all = (value: string) => value;
  const pick = isLast && !isPicked ? wantedRows(ops.graph, cross?.wanted ?? 'logits_index') : all;
  const rowsLike = isLast || isPicked ? 'logits_index' : tokenIds;
  const mixedLike = isPicked ? 'logits_index' : tokenIds;

  const addition = { norm: names.mlpOutputNorm, prefix };
  const mixers = mixersOf(config, layer);
  if (mixers.length === 0) {
    const { sum, value, norm } = ops.norm(names.mlpNorm, start);
    const picked = { value: pick(value), norm, rowsLike };
    return addMlp(ops, layer, picked, { to: { sum: pick(sum.sum) }, ...addition });
  }
  const { sum: before, ...read } = ops.norm(names.attentionNorm, start);
  // Attention to speech needs all rows.
  const mixed = cross === null ? { pick, rowsLike } : { pick: all, rowsLike: tokenIds };
  const afterMixers = mixers.reduce((to, mixer: Mixer, index) => {
    const value = mixTokens(ops, attention, layer, mixer, { ...read, rowsLike: mixedLike });
    const added = { to, norm: names.attentionOutputNorm, prefix };
    // The sum is picked once.
    return index === 0
      ? ops.addLinear(
          mixer.output,
          { value, rowsLike: mixed.rowsLike },
          { ...added, pick: mixed.pick },
        )
      : ops.addLinear(mixer.output, { value: mixed.pick(value), rowsLike: mixed.rowsLike }, added);
  }, before);
  const withResidual = addResidual(ops, layer, afterMixers, { ...read, rowsLike });
  const afterAttention = cross?.add(layer, withResidual, pick, rowsLike) ?? withResidual;
  if (!hasMlp(config, layer)) return afterAttention;

  if (!config.parallelResidual) {
    const { sum, ...normalized } = ops.norm(names.mlpNorm, afterAttention);
    const end = addMlp(ops, layer, { ...normalized, rowsLike }, { to: sum, ...addition });
    const given = ownInput === null ? null : { value: pick(ownInput), rowsLike };
    return endLayer(ops, layer, end, given);
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
  if (experts !== null && family.varied?.besideMlp !== undefined) {
    return ops.add(emitBoth(ops, experts, layer, input, addition.to.sum), addition);
  }
  if (experts !== null) {
    const value = ops.plain(input, `${layerTensorNames(family, layer).mlpNorm}/Norm`);
    const rows = { value, rowsLike: input.rowsLike };
    return ops.add(emitExperts(graph, config, experts, layer, rows, ops), addition);
  }
  const { first, down } = mlpLayers(config, layer);
  const prefix = `layers.${layer}.mlp`;
  const floor = config.gateFloors?.[layer] ?? null;
  const value = !family.gatesMlp
    ? activate(ops, layer, ops.linear(first, input))
    : floor === null
      ? ops.gated(first, input, prefix)
      : emitSparseGates(ops, prefix, ops.linear(first, input), floor);
  return ops.addLinear(down, { value, rowsLike: input.rowsLike }, addition);
}

function activate({ graph, config, weights, type }: DecoderOps, layer: number, value: string) {
  const { activation: tensor } = layerTensorNames(config.family, layer);
  return tensor === null
    ? emitActivation(graph, value, config.activation)
    : emitXielu(graph, weights, type, tensor, value);
}

/**
 * Picks, once for each value, the tokens whose logits are wanted: what follows the last attention then
 * costs the same for a prompt as for one token. [tokens, n] becomes [wanted, n].
 */
function wantedRows(graph: GraphBuilder, wantedPlaces: string): (value: string) => string {
  const picked = new Map<string, string>();
  return (value) => {
    const wanted =
      picked.get(value) ?? graph.node(`${value}/Wanted`, 'Gather', [value, wantedPlaces]);
    picked.set(value, wanted);
    return wanted;
  };
}
