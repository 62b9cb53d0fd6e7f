import { int64s } from '../../onnx/int64s.ts';
import { numbered, ofLayer } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { transposeInto } from '../huggingface/transpose.ts';
import { cast, floatInitializer, scalar } from '../quantize/float-matrix.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { NormalizedInput, ResidualSum } from './decoder-values.ts';
import { emitLayerInput, layerInputLayers, layerInputNorm } from './layer-inputs.ts';
import type { LinearInput, LinearLayer } from './linear.ts';
import { splitColumns } from './recurrence.ts';
import { emitRmsNorm } from './rms-norm.ts';

/** Mean square that a stream is divided by the root of, at least. */
const LEAST_SQUARE = 1e-5;

/** Linear layers of all streams but the first: from the embedding, and back. */
export function streamLayers({ family, streams, hiddenSize }: DecoderConfig): {
  readonly projections: readonly LinearLayer[];
  readonly unembeddings: readonly LinearLayer[];
} {
  const { projection, unembedding } = family.varied?.streams ?? {};
  const others = Array.from({ length: (streams?.count ?? 1) - 1 }, (_, index) => index);
  const layers = (name: string, tensor = '') =>
    others.map((index) => ({
      name: `streams.${name}.${index}`,
      inFeatures: hiddenSize,
      parts: [{ tensor: numbered(tensor, index), outFeatures: hiddenSize }],
      bias: false,
    }));
  return {
    projections: layers('projection', projection),
    unembeddings: layers('unembedding', unembedding),
  };
}

/** Several hidden states of each token, [rows, streams, hidden], of which layers compute the first. */
export interface Streams {
  /** Makes them of embeddings [rows, hidden]. */
  spread(embedded: LinearInput): ResidualSum;
  /**
   * Adds a layer.
   * @param input its part of `emitLayerInputs`, of the same rows
   * @param add gives the sum after the layer of that before it, [rows, hidden] both
   */
  layer(
    layer: number,
    streams: ResidualSum,
    input: LinearInput,
    add: (active: ResidualSum) => ResidualSum,
  ): ResidualSum;
  /** Makes one of them again. */
  merge(streams: ResidualSum, rowsLike: string): ResidualSum;
}

/** Null where tokens have one hidden state. */
export function alternatingStreams(ops: DecoderOps): Streams | null {
  const { graph, config, weights, type, norms } = ops;
  const { family, hiddenSize, rmsNormEps, streams: size } = config;
  const names = family.varied?.streams;
  if (size === undefined || names === undefined) return null;
  const { count } = size;
  const { router, routerNorm, prediction, correction, scale } = names;
  const { projections, unembeddings } = streamLayers(config);
  const axis = int64s(graph, 'streams/axis', 1);
  const lastAxis = int64s(graph, 'streams/last_axis', 2);
  const byStream = int64s(graph, 'streams/by_stream', -1, count, hiddenSize);
  const together = int64s(graph, 'streams/together', -1, count * hiddenSize);
  const squares = int64s(graph, 'streams/squares', -1, count, count);
  const parts = int64s(graph, 'streams/parts', 1, count - 1);
  const one = scalar(graph, 'streams/one', type, 1);
  const least = scalar(graph, 'streams/least', 'float', LEAST_SQUARE);
  const matrices = new Map<string, string>();
  const node = (name: string, opType: string, ...inputs: readonly string[]): string =>
    graph.node(name, opType, inputs);

  /** A matrix of a layer as floats, transposed, once. */
  function matrix(tensor: string, [rows, columns]: readonly [number, number]): string {
    const known = matrices.get(tensor);
    if (known !== undefined) return known;
    const made = floatInitializer(graph, `${tensor}.weight`, [columns, rows], type, async () => {
      const transposed = new Float32Array(rows * columns);
      const values = await weights.get(`${tensor}.weight`, [rows, columns]);
      transposeInto(values, rows, columns, transposed, rows, 0);
      return transposed;
    });
    matrices.set(tensor, made);
    return made;
  }

  /** Means of the squares of rows [rows, hidden]: float [rows, 1]. */
  function meanSquare(float: string): string {
    const square = node(`${float}/Square`, 'Mul', float, float);
    return node(`${float}/MeanSquare`, 'ReduceMean', square, axis);
  }

  const lengthOf = (value: string): string =>
    node(`${value}/Length`, 'Sqrt', meanSquare(inFloat(value)));

  const inFloat = (value: string): string =>
    type === 'float' ? value : cast(graph, `${value}/Float`, value, 'float');

  /** Rows with the length of others. @param wanted float [rows, 1] */
  function withLength(value: string, wanted: string): string {
    const float = inFloat(value);
    const bounded = node(`${value}/Bounded`, 'Max', meanSquare(float), least);
    const ratio = node(`${value}/Ratio`, 'Div', wanted, node(`${value}/Own`, 'Sqrt', bounded));
    const scaled = node(`${value}/Scaled`, 'Mul', float, ratio);
    return type === 'float' ? scaled : cast(graph, `${value}/Cast`, scaled, type);
  }

  /** The first stream [rows, 1, hidden], and the others. */
  function split(streams: string): { readonly first: string; readonly others: string } {
    const outputs = [`${streams}/First`, `${streams}/Others`] as const;
    graph.node(`${streams}/Split`, 'Split', [streams, parts], {
      outputs,
      attributes: { axis: 1n },
    });
    return { first: outputs[0], others: outputs[1] };
  }

  const flat = (stream: string): string => node(`${stream}/Flat`, 'Squeeze', stream, axis);

  /** Scores of streams [rows, streams]. */
  function scores(layer: number, value: string): string {
    const full = (name: string): string => ofLayer(family, layer, name);
    const weight = norms.weight(full(routerNorm), hiddenSize, 1 / hiddenSize);
    const normalized = emitRmsNorm(graph, `${value}/Routed`, value, weight, rmsNormEps);
    const routed = matrix(full(router), [count, hiddenSize]);
    return node(`${value}/Scores`, 'Tanh', node(`${value}/Router`, 'MatMul', normalized, routed));
  }

  /** Predicts the streams after a layer. */
  function predict(layer: number, streams: string): string {
    const scored = scores(layer, flat(split(streams).first));
    const weight = matrix(ofLayer(family, layer, prediction), [count * count, count]);
    const shares = node(`${streams}/Shares`, 'MatMul', scored, weight);
    const mixing = node(`${streams}/Mixing`, 'Reshape', shares, squares);
    const change = node(`${streams}/Change`, 'MatMul', mixing, streams);
    return node(`${streams}/Predicted`, 'Add', change, streams);
  }

  /** Corrects predicted streams by what the layer made of the first one. */
  function correct(layer: number, predicted: string, active: string, end: string): string {
    const weight = matrix(ofLayer(family, layer, correction), [count, count]);
    const shares = node(`${end}/Shares`, 'MatMul', scores(layer, end), weight);
    const factors = node(
      `${end}/Factors`,
      'Unsqueeze',
      node(`${end}/Plus`, 'Add', shares, one),
      lastAxis,
    );
    const change = node(`${end}/Change`, 'Sub', end, active);
    const spread = node(
      `${end}/Spread`,
      'Mul',
      node(`${change}/Rows`, 'Unsqueeze', change, axis),
      factors,
    );
    return node(`${end}/Corrected`, 'Add', predicted, spread);
  }

  /** A stream times a layer's factors. */
  function times(layer: number, stream: string): string {
    const tensor = ofLayer(family, layer, scale);
    const factors = floatInitializer(graph, tensor, [hiddenSize], type, () =>
      weights.get(tensor, [hiddenSize]),
    );
    return node(`${stream}/Scaled`, 'Mul', stream, factors);
  }

  return {
    spread(embedded) {
      const length = lengthOf(embedded.value);
      const others = projections.map((each) => withLength(ops.expert(embedded, each), length));
      const all = graph.node('streams/All', 'Concat', [embedded.value, ...others], {
        attributes: { axis: 1n },
      });
      return { sum: node('streams/Spread', 'Reshape', all, byStream) };
    },
    layer(layer, { sum: streams }, input, add) {
      const predicted = predict(layer, streams);
      const active = flat(split(predicted).first);
      const end = ops.norm(null, add({ sum: active })).value;
      const corrected = correct(layer, predicted, active, end);
      const { first, others } = split(corrected);
      const gating = size.isScaled ? times(layer, flat(first)) : flat(first);
      const layers = layerInputLayers(config, layer);
      if (layers === null) throw new TypeError('layers have no embedding of their own');
      const output = emitLayerInput(ops, layers, gating, input);
      const own = norms.plain(layerInputNorm(config, layer), output);
      const added = node(`${own}/Rows`, 'Unsqueeze', own, axis);
      const sums = [first, node(`${others}/Sum`, 'Add', others, added)];
      return {
        sum: graph.node(`${corrected}/Sum`, 'Concat', sums, { attributes: { axis: 1n } }),
      };
    },
    merge({ sum: streams }, rowsLike) {
      const all = node('streams/Flat', 'Reshape', streams, together);
      const sizes = Array.from(
        { length: count },
        (_, index) => [`Stream${index}`, hiddenSize] as const,
      );
      const [first = '', ...others] = splitColumns(ops, all, sizes);
      const length = lengthOf(first);
      const sum = others.reduce((before, value, index) => {
        const layer = unembeddings[index];
        if (layer === undefined) throw new TypeError('a stream without a way back');
        const back = withLength(ops.expert({ value, rowsLike }, layer), length);
        return node(`streams/Sum${index}`, 'Add', before, back);
      }, first);
      const share = scalar(graph, 'streams/share', type, 1 / count);
      return { sum: node('streams/Mean', 'Mul', sum, share) };
    },
  };
}

/** Adds a layer's product of two narrow matrices to what follows attention. @param read what attention reads */
export function addResidual(
  ops: DecoderOps,
  layer: number,
  start: ResidualSum,
  read: NormalizedInput,
): ResidualSum {
  const { graph, config, norms, type } = ops;
  const layers = residualLayers(config, layer);
  const names = config.family.varied?.streams?.residual;
  if (layers === null || names === undefined) return start;
  const { rowsLike } = read;
  const prefix = `layers.${layer}.residual`;
  const value = ops.plain(read, `${prefix}/Read`);
  const down = ops.expert({ value, rowsLike }, layers.down);
  const up = ops.expert({ value: down, rowsLike }, layers.up);
  const normalized = norms.plain(ofLayer(config.family, layer, names.norm), up);
  const own = graph.node(`${prefix}/Own`, 'Add', [value, normalized]);
  const sum = graph.node(`${prefix}/Sum`, 'Add', [ops.norm(null, start).value, own]);
  const half = scalar(graph, `${prefix}/half`, type, Math.sqrt(1 / 2));
  return { sum: graph.node(`${prefix}/Scaled`, 'Mul', [sum, half]) };
}

/** Null where nothing is added to attention's output. */
export function residualLayers(
  { family, streams, hiddenSize }: DecoderConfig,
  layer: number,
): { readonly down: LinearLayer; readonly up: LinearLayer } | null {
  const names = family.varied?.streams?.residual;
  if (streams === undefined || names === undefined) return null;
  const linear = (name: 'down' | 'up', inFeatures: number, outFeatures: number) => ({
    name: `layers.${layer}.residual.${name}`,
    inFeatures,
    parts: [{ tensor: ofLayer(family, layer, names[name]), outFeatures }],
    bias: false,
  });
  const { residualRank: rank } = streams;
  return { down: linear('down', hiddenSize, rank), up: linear('up', rank, hiddenSize) };
}
