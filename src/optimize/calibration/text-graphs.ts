import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { decoderGraph } from '../../model/graph/decoder.ts';
import type { DecoderObserver } from '../../model/graph/decoder-observer.ts';
import type { ResidualSum } from '../../model/graph/decoder-values.ts';
import { OnnxRuntimeOps } from '../../model/graph/onnxruntime-ops.ts';
import { layerMatrices } from '../../model/graph/layer-matrices.ts';
import type { DecoderConfig } from '../../model/huggingface/config.ts';
import type { WeightSource } from '../../model/huggingface/weights.ts';
import { addRoundingError } from './rounding-error.ts';
import { TEXT_INPUTS, textAttention } from './text-attention.ts';

/** A layer's matrices, by the names that layerMatrices gives them. */
export type LinearName = 'attention.qkv' | 'attention.output' | 'mlp.gate_up' | 'mlp.down';

/**
 * Statistics of a linear layer's inputs x, summed up over the tokens of a text: `gram`, x x^T [columns,
 * columns]; `squares` and `magnitudes`, of each column [columns]; `error`, x e^T [columns, hidden],
 * where e is the difference between a target and the hidden state after the layer. `reach` is the
 * largest magnitude of each column [columns]. `rounding` is the error of the layer's output when its
 * inputs become 8-bit integers, see addRoundingError.
 */
export type StatisticKind = 'gram' | 'squares' | 'magnitudes' | 'error' | 'reach' | 'rounding';

export interface Statistic {
  readonly linear: LinearName;
  readonly kind: StatisticKind;
  /** Step of the integers, for `rounding`; each token has its own if left out. */
  readonly step?: number;
}

/** Name of a statistic's output. */
export function statisticName({ linear, kind, step }: Statistic): string {
  return `statistics/${linear}/${kind}${step === undefined ? '' : `/${step}`}`;
}

/** Name of an input of layers' graphs: what the hidden state should be. */
export const TARGET_INPUT = 'target';

/** A part of a decoder, over one whole text. */
export interface TextGraph {
  readonly graph: GraphBuilder;
  /** Name of an input: what is added to the sum of everything before; undefined where tokens come in. */
  readonly hidden?: string;
  /** Name of an input: that sum; undefined where there is none yet. */
  readonly residual?: string | undefined;
  readonly output: string;
}

/** From token ids to the hidden state [tokens, hidden] before the first layer. */
export function embeddingGraph(config: DecoderConfig, weights: WeightSource): TextGraph {
  const { graph, boundaries } = emit(config, weights);
  const { hidden } = boundaryAt(boundaries, 0);
  return { graph: graph.part([], [rows(hidden, config.hiddenSize)]), output: hidden };
}

/** From the hidden state before a layer to the one after it, and statistics. */
export function layerGraph(
  config: DecoderConfig,
  weights: WeightSource,
  layer: number,
  watched: readonly Statistic[],
): TextGraph {
  const { graph, boundaries, inputs } = emit(config, weights);
  const { hidden, residual } = boundaryAt(boundaries, layer);
  const after = boundaryAt(boundaries, layer + 1);
  const state = (name: string) => rows(name, config.hiddenSize);
  const output = graph.node('after', 'Add', [after.residual ?? '', after.hidden]);
  const targets = watched.some(({ kind }) => kind === 'error') ? [state(TARGET_INPUT)] : [];
  for (const { name, type, dims } of targets) graph.input(name, type, dims);
  const made = watched.map((statistic) => {
    const { linear, kind, step } = statistic;
    const name = `layers.${layer}.${linear}`;
    const input = inputs.get(name) ?? '';
    const sum = statisticName(statistic);
    if (kind === 'rounding') {
      addRoundingError(graph, sum, { name, input }, step);
      return { name: sum, type: 'float' as const, dims: [1] };
    }
    const matrix = layerMatrices(config, layer).find((each) => each.name === name);
    const sizes = { columns: matrix?.columns ?? 0, hidden: config.hiddenSize };
    const dims = addStatistic(graph, sum, kind, input, sizes);
    return { name: sum, type: 'float' as const, dims };
  });
  const given = residual === undefined ? [state(hidden)] : [state(hidden), state(residual)];
  return {
    graph: graph.part([...given, ...targets], [state(output), ...made]),
    hidden,
    residual,
    output,
  };
}

/**
 * From the hidden state after the last layer, of all tokens but the last one, and the tokens that come
 * next [tokens], to the negative log likelihood [1] of these.
 */
export function likelihoodGraph(config: DecoderConfig, weights: WeightSource): TextGraph {
  const { graph, boundaries } = emit(config, weights);
  const { hidden, residual } = boundaryAt(boundaries, config.numLayers);
  const state = (name: string) => rows(name, config.hiddenSize);
  const last = graph.initializer('likelihood/last', 'int64', [1], BigInt64Array.of(1n));
  const logits = graph.node('likelihood/Log', 'LogSoftmax', ['logits'], {
    attributes: { axis: -1n },
  });
  const tokens = graph.node('likelihood/Next', 'Unsqueeze', [TEXT_INPUTS.tokenIds, last]);
  const chosen = graph.node('likelihood/Chosen', 'GatherElements', [logits, tokens], {
    attributes: { axis: -1n },
  });
  const sum = graph.node('likelihood/Sum', 'ReduceSum', [chosen], { attributes: { keepdims: 0n } });
  const output = graph.node('likelihood', 'Neg', [sum]);
  const given = residual === undefined ? [state(hidden)] : [state(hidden), state(residual)];
  const part = graph.part(given, [{ name: output, type: 'float', dims: [] }]);
  return { graph: part, hidden, residual, output };
}

interface Boundary {
  readonly hidden: string;
  readonly residual: string | undefined;
}

class Observed implements DecoderObserver {
  readonly boundaries: Boundary[] = [];
  readonly inputs = new Map<string, string>();

  boundary(layer: number, { sum, added }: ResidualSum): void {
    this.boundaries[layer] =
      added === undefined ? { hidden: sum, residual: undefined } : { hidden: added, residual: sum };
  }

  linear(name: string, input: string): void {
    this.inputs.set(name, input);
  }
}

function emit(config: DecoderConfig, weights: WeightSource) {
  const observed = new Observed();
  const addAttention = (graph: GraphBuilder) => textAttention(graph, config);
  const formats = { precision: 'fp32' } as const;
  const ops = new OnnxRuntimeOps(config, weights, formats, observed);
  return {
    graph: decoderGraph(ops, addAttention),
    boundaries: observed.boundaries,
    inputs: observed.inputs,
  };
}

function boundaryAt(boundaries: readonly Boundary[], layer: number): Boundary {
  const boundary = boundaries[layer];
  if (boundary === undefined) throw new RangeError(`the model has no layer ${layer}`);
  return boundary;
}

function rows(name: string, width: number) {
  return { name, type: 'float', dims: ['tokens', width] } as const;
}

/** @returns the statistic's dimensions */
function addStatistic(
  graph: GraphBuilder,
  name: string,
  kind: Exclude<StatisticKind, 'rounding'>,
  input: string,
  { columns, hidden }: { readonly columns: number; readonly hidden: number },
): number[] {
  const attributes = { transA: 1n };
  switch (kind) {
    case 'gram':
      graph.node(name, 'Gemm', [input, input], { attributes });
      return [columns, columns];
    case 'error': {
      const missing = graph.node(`${name}/Missing`, 'Sub', [TARGET_INPUT, 'after']);
      graph.node(name, 'Gemm', [input, missing], { attributes });
      return [columns, hidden];
    }
    case 'reach': {
      const magnitudes = graph.node(`${name}/Abs`, 'Abs', [input]);
      const axis = graph.initializer(`${name}/axis`, 'int64', [1], BigInt64Array.of(0n));
      graph.node(name, 'ReduceMax', [magnitudes, axis], { attributes: { keepdims: 0n } });
      return [columns];
    }
    case 'squares':
    case 'magnitudes': {
      const positive =
        kind === 'squares'
          ? graph.node(`${name}/Squares`, 'Mul', [input, input])
          : graph.node(`${name}/Abs`, 'Abs', [input]);
      const axis = graph.initializer(`${name}/axis`, 'int64', [1], BigInt64Array.of(0n));
      graph.node(name, 'ReduceSum', [positive, axis], { attributes: { keepdims: 0n } });
      return [columns];
    }
  }
}
