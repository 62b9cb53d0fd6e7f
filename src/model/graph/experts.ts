import { type GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { int64s } from '../../onnx/int64s.ts';
import { layerTensorNames } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { ClampedGates, ExpertConfig } from '../huggingface/expert-config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import {
  cast,
  floatData,
  floatInitializer,
  scalar as addScalar,
} from '../quantize/float-matrix.ts';
import type { FloatType } from '../quantize/weight-format.ts';
import { emitActivation, emitGated, splitGates } from './activation.ts';
import { ofGroups } from './expert-groups.ts';
import { type ExpertLayer, expertLayers, type SharedExpertLayer } from './expert-layers.ts';
import type { LinearInput, LinearLayer } from './linear.ts';
import { groupByExpert } from './tokens-by-expert.ts';
import { pickSparsely } from './sparse-mixer.ts';

/** Adds a linear layer over any number of rows, none included; returns its output's name. */
export type EmitLinear = (input: LinearInput, layer: LinearLayer) => string;

/** Functions and types that a graph's experts are made with. */
export interface ExpertEmitters {
  /** Type of the activations. */
  readonly type: FloatType;
  readonly weights: WeightSource;
  /** Also of shares. In floats: a rounded score can pick another expert. */
  readonly router: EmitLinear;
  readonly expert: EmitLinear;
}

/**
 * Adds a layer's experts: [tokens, hidden] to [tokens, hidden], each token computed by those that its
 * router picks. Tokens are put in the order of their experts, so that every expert computes its own in
 * one product, and none if it has none. What a token gets does not depend on the others, but for what
 * the product itself makes of them.
 * @param scored what their router reads, if that is something else
 */
export function emitExperts(
  graph: GraphBuilder,
  config: DecoderConfig,
  experts: ExpertConfig,
  layer: number,
  input: LinearInput,
  emit: ExpertEmitters,
  scored: LinearInput = input,
): string {
  const prefix = `layers.${layer}.${config.family.varied?.besideMlp ? 'experts' : 'mlp'}`;
  const { router, each, shared } = expertLayers(config, experts, layer);
  const scores = emit.router(scored, router);
  const correction = addCorrection(graph, config, layer, emit.weights);
  const picks = pickExperts(graph, prefix, scores, experts, emit.type, correction);
  const { ids } = picks;
  const shares = multiplyShares(graph, config, layer, picks, emit);
  const grouped = groupByExpert(graph, prefix, ids, experts);
  const scalesInput = config.family.experts?.scalesInput === true;
  const given = graph.node(`${prefix}/Rows`, 'Gather', [input.value, grouped.tokens]);
  const rows = scalesInput ? scaleRows(graph, prefix, given, shares, grouped.pairs) : given;

  const forEach = (name: string, value: string, layerOf: (layers: ExpertLayer) => LinearLayer) => {
    const parts = grouped.split(`${prefix}/${name}`, value);
    const outputs = each.map((layers, index) => {
      const own = { value: parts[index] ?? '', rowsLike: grouped.rowsLike[index] ?? '' };
      return emit.expert(own, layerOf(layers));
    });
    return graph.node(`${prefix}/${name}/All`, 'Concat', outputs, { attributes: { axis: 0n } });
  };
  const gateUp = forEach('GateUp', rows, (layers) => layers.gateUp);
  const gated =
    experts.clampedGates === null
      ? activate(graph, prefix, gateUp, config)
      : clampGates(graph, prefix, gateUp, experts.clampedGates, emit.type);
  const down = forEach('Down', gated, (layers) => layers.down);

  // Back to the order of tokens: [tokens, perToken, hidden].
  const back = graph.node(`${prefix}/Back`, 'Gather', [down, grouped.places]);
  const byToken = int64s(graph, `${prefix}/by_token`, -1, experts.perToken, config.hiddenSize);
  const results = graph.node(`${prefix}/ByToken`, 'Reshape', [back, byToken]);
  const weighted = scalesInput ? results : weightResults(graph, prefix, results, shares);
  const axis = int64s(graph, `${prefix}/picked_axis`, 1);
  const picked = graph.node(`${prefix}/Experts`, 'ReduceSum', [weighted, axis], {
    attributes: { keepdims: 0n },
  });
  if (shared === null) return picked;
  const common = emitShared(graph, `${prefix}/Shared`, config, shared, input, emit);
  return graph.node(`${prefix}/AllExperts`, 'Add', [picked, common]);
}

/** Results [tokens, perToken, hidden] times their shares. */
function weightResults(graph: GraphBuilder, prefix: string, results: string, shares: string) {
  const column = int64s(graph, `${prefix}/column`, 2);
  const weights = graph.node(`${prefix}/Weights`, 'Unsqueeze', [shares, column]);
  return graph.node(`${prefix}/Weighted`, 'Mul', [results, weights]);
}

/** Rows that experts read, [pairs, hidden], times the shares of these pairs. */
function scaleRows(
  graph: GraphBuilder,
  prefix: string,
  rows: string,
  shares: string,
  pairs: string,
): string {
  const column = int64s(graph, `${prefix}/share_column`, -1, 1);
  const all = graph.node(`${prefix}/AllShares`, 'Reshape', [shares, column]);
  const own = graph.node(`${prefix}/RowShares`, 'Gather', [all, pairs]);
  return graph.node(`${prefix}/ScaledRows`, 'Mul', [rows, own]);
}

/** Shares, times the factors of their experts where the family has these. */
function multiplyShares(
  graph: GraphBuilder,
  { family, experts }: DecoderConfig,
  layer: number,
  { shares, ids }: { readonly shares: string; readonly ids: string },
  { weights, type }: ExpertEmitters,
): string {
  const name = layerTensorNames(family, layer).experts?.factors;
  if (name === undefined || experts === null) return shares;
  const dims = [experts.count];
  const factors = floatInitializer(graph, name, dims, type, () => weights.get(name, dims));
  const picked = graph.node(`${name}/Picked`, 'Gather', [factors, ids]);
  return graph.node(`${name}/Shares`, 'Mul', [shares, picked]);
}

/** Output of the shared expert for every token. */
function emitShared(
  graph: GraphBuilder,
  prefix: string,
  config: DecoderConfig,
  { gateUp, down, share }: SharedExpertLayer,
  input: LinearInput,
  emit: ExpertEmitters,
): string {
  const gated = activate(graph, prefix, emit.expert(input, gateUp), config);
  const output = emit.expert({ value: gated, rowsLike: input.rowsLike }, down);
  if (share === null) return output;
  const score = graph.node(`${prefix}/Score`, 'Sigmoid', [emit.router(input, share)]);
  return graph.node(`${prefix}/Weighted`, 'Mul', [output, score]);
}

function activate(
  graph: GraphBuilder,
  prefix: string,
  value: string,
  { activation, family }: DecoderConfig,
): string {
  return family.gatesMlp
    ? emitGated(graph, prefix, value, activation)
    : emitActivation(graph, value, activation);
}

/** Adds what corrects a router's scores; null if nothing does. */
function addCorrection(
  graph: GraphBuilder,
  { family, experts }: DecoderConfig,
  layer: number,
  weights: WeightSource,
): string | null {
  const name = layerTensorNames(family, layer).experts?.correction ?? null;
  if (name === null || experts === null) return null;
  const { count } = experts;
  const shape = family.experts?.correctionIsRow === true ? [1, count] : [count];
  return floatInitializer(graph, name, [count], 'float', () => weights.get(name, shape));
}

/** The experts of every token, int64 [tokens, perToken], and their shares, of the same shape. */
function pickExperts(
  graph: GraphBuilder,
  prefix: string,
  given: string,
  experts: ExpertConfig,
  type: FloatType,
  correction: string | null,
): { shares: string; ids: string } {
  const { count, perToken, normalizesShares, scoring, shareFactor, jitter } = experts;
  const scores = type === 'float' ? given : cast(graph, `${prefix}/Scores`, given, 'float');
  const inType = (shares: string) =>
    type === 'float' ? shares : cast(graph, `${prefix}/Cast`, shares, type);
  if (jitter !== undefined) {
    const { ids, shares } = pickSparsely(graph, prefix, scores, count, jitter);
    return { ids, shares: inType(shares) };
  }
  const softmax = (value: string) =>
    graph.node(`${value}/Softmax`, 'Softmax', [value], { attributes: { axis: -1n } });
  // A softmax leaves the order as it is, and of those that are picked it is in proportion to all.
  const isPlain = scoring === 'softmax' && correction === null;
  const probabilities =
    scoring === 'sigmoid'
      ? graph.node(`${prefix}/Sigmoid`, 'Sigmoid', [scores])
      : isPlain
        ? scores
        : softmax(scores);
  // A sigmoid leaves the order as it is, too, but where it comes to 1.
  const uncorrected = scoring === 'sigmoid' ? scores : probabilities;
  const ranked =
    correction === null
      ? uncorrected
      : graph.node(`${prefix}/Corrected`, 'Add', [probabilities, correction]);
  const allowed = experts.groups === undefined ? ranked : ofGroups(graph, prefix, ranked, experts);
  const ids = `${prefix}/PickedIds`;
  const picked = graph.node(
    `${prefix}/Picked`,
    'TopK',
    [allowed, int64s(graph, `${prefix}/per_token`, perToken)],
    { outputs: [`${prefix}/Picked`, ids], attributes: { axis: -1n } },
  );
  const ofPicked = (values: string) =>
    graph.node(`${prefix}/Shares`, 'GatherElements', [values, ids], { attributes: { axis: 1n } });
  const plain = () => (normalizesShares ? softmax(picked) : ofPicked(softmax(scores)));
  const others = () => {
    const own = ofPicked(probabilities);
    if (!normalizesShares) return own;
    const sum = graph.node(`${prefix}/SharesSum`, 'ReduceSum', [
      own,
      int64s(graph, `${prefix}/shares_axis`, 1),
    ]);
    return graph.node(`${prefix}/ShareOfSum`, 'Div', [own, sum]);
  };
  const unscaled = isPlain ? plain() : others();
  const shares =
    shareFactor === 1
      ? unscaled
      : graph.node(`${prefix}/ScaledShares`, 'Mul', [
          unscaled,
          addScalar(graph, `${prefix}/share_factor`, 'float', shareFactor),
        ]);
  return { ids, shares: inType(shares) };
}

function clampGates(
  graph: GraphBuilder,
  prefix: string,
  gateUp: string,
  { limit, alpha }: ClampedGates,
  type: FloatType,
): string {
  const { gate, up } = splitGates(graph, prefix, gateUp);
  const scalar = (name: string, value: number) =>
    graph.initializer(`${prefix}/${name}`, type, [], floatData(type, Float32Array.of(value)));
  const [least, most] = [scalar('least', -limit), scalar('most', limit)];
  const clampedGate = graph.node(`${gate}/Clamped`, 'Clip', [gate, '', most]);
  const clampedUp = graph.node(`${up}/Clamped`, 'Clip', [up, least, most]);
  const activated = graph.node(`${gate}/Activated`, 'QuickGelu', [clampedGate], {
    domain: MICROSOFT_DOMAIN,
    attributes: { alpha },
  });
  const more = graph.node(`${up}/More`, 'Add', [clampedUp, scalar('one', 1)]);
  return graph.node(`${prefix}/Mul`, 'Mul', [activated, more]);
}
