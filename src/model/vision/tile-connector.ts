/** From patches of tiles to tokens of a text model. */
import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { EncoderNodes } from '../encoder/encoder-nodes.ts';
import { emitActivation } from '../graph/activation.ts';
import { emitRmsNorm } from '../graph/rms-norm.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { CONNECTOR, POOL_MATRIX, POOL_NORM, PROJECTOR } from './tensor-names.ts';
import type { Connector, TileShape } from './vision-config.ts';

/** Graph that a connector becomes a part of. */
export interface ConnectorGraph {
  readonly graph: GraphBuilder;
  readonly nodes: EncoderNodes;
  readonly weights: WeightSource;
  readonly shape: TileShape;
}

type ConnectorOf<Kind> = Extract<Connector, { kind: Kind }>;

/**
 * Makes rows of the text model's width of squares of neighbouring patches.
 * @param value of patches [tiles * patches, channels]
 */
export function emitConnector(into: ConnectorGraph, value: string): string {
  const { connector } = into.shape;
  switch (connector.kind) {
    case 'pool':
      return pooled(into, value, connector);
    case 'mlp':
      return projected(into, value, connector);
    case 'shuffle':
      return linear(into, shuffled(into, value, connector.side), {
        tensor: CONNECTOR,
        from: into.shape.tower.hiddenSize * connector.side ** 2,
        bias: false,
      });
  }
}

/** Means of squares of neighbouring patches, normalized. */
function pooled(into: ConnectorGraph, value: string, { side, normEps }: ConnectorOf<'pool'>) {
  const { graph, weights, shape } = into;
  const { tower, patches, textSize } = shape;
  const { hiddenSize } = tower;
  const squares = patches / side;
  const split = reshape(graph, 'pool/Split', value, [-1, squares, side, squares, side, hiddenSize]);
  const axes = graph.initializer('pool/axes', 'int64', [2], BigInt64Array.of(2n, 4n));
  const mean = graph.node('pool/Mean', 'ReduceMean', [split, axes], {
    attributes: { keepdims: 0n },
  });
  const rows = reshape(graph, 'pool', mean, [-1, hiddenSize]);
  const weight = graph.initializer(POOL_NORM, 'float', [hiddenSize], async () =>
    (await weights.get(POOL_NORM, [hiddenSize])).map((each) => 1 + each),
  );
  const normed = emitRmsNorm(graph, 'pool/Norm', rows, weight, normEps);
  const matrix = graph.initializer(POOL_MATRIX, 'float', [hiddenSize, textSize], () =>
    weights.get(POOL_MATRIX, [hiddenSize, textSize]),
  );
  return graph.node('connector/MatMul', 'MatMul', [normed, matrix]);
}

/** Two layers, with an activation in between. */
function projected(
  into: ConnectorGraph,
  value: string,
  { side, activation, bias, normEps }: ConnectorOf<'mlp'>,
): string {
  const { tower, textSize } = into.shape;
  const from = tower.hiddenSize * side ** 2;
  const cells = side === 1 ? value : shuffled(into, value, side);
  const normed = normEps === undefined ? cells : normalized(into, cells, from, normEps);
  const wide = linear(into, normed, { tensor: `${PROJECTOR}.linear_1`, from, bias });
  const active = emitActivation(into.graph, wide, activation);
  return linear(into, active, { tensor: `${PROJECTOR}.linear_2`, from: textSize, bias });
}

function normalized(
  { graph, nodes }: ConnectorGraph,
  value: string,
  size: number,
  epsilon: number,
) {
  const name = `${PROJECTOR}.layer_norm`;
  const tensors = ['weight', 'bias'].map((part) => nodes.tensor(`${name}.${part}`, [size]));
  const attributes = { axis: -1n, epsilon };
  return graph.node(name, 'LayerNormalization', [value, ...tensors], { attributes });
}

interface Layer {
  readonly tensor: string;
  readonly from: number;
  readonly bias: boolean;
}

/** A layer in float32, whatever the tower's precision. */
function linear({ nodes, shape }: ConnectorGraph, value: string, { tensor, from, bias }: Layer) {
  const parts = [{ tensor, outFeatures: shape.textSize }];
  return nodes.floatLinear(
    { value, rowsLike: '' },
    { name: tensor, inFeatures: from, parts, bias },
  );
}

/** Channels of neighbouring patches side by side: squares of them become rows. */
function shuffled({ graph, shape }: ConnectorGraph, value: string, side: number): string {
  const { tower, patches } = shape;
  const squares = patches / side;
  const beside = side * tower.hiddenSize;
  const split = reshape(graph, 'shuffle/Split', value, [-1, squares, side, squares, beside]);
  const turned = graph.node('shuffle/Turned', 'Transpose', [split], {
    attributes: { perm: [0n, 1n, 3n, 2n, 4n] },
  });
  return reshape(graph, 'shuffle', turned, [-1, side * beside]);
}

function reshape(graph: GraphBuilder, name: string, value: string, dims: readonly number[]) {
  const to = BigInt64Array.from(dims, BigInt);
  return graph.node(name, 'Reshape', [
    value,
    graph.initializer(`${name}/shape`, 'int64', [dims.length], to),
  ]);
}
