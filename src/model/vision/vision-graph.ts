import { GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { CHANNELS } from '../../images/pixels.ts';
import { EncoderNodes, type Rows } from '../encoder/encoder-nodes.ts';
import type { EncoderVariant } from '../encoder/write-encoder.ts';
import { emitActivation } from '../graph/activation.ts';
import { emitRmsNorm } from '../graph/rms-norm.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { MIDDLE, patchPlaces, patchWeights, tileKernel } from './patch-embedding.ts';
import { CONNECTOR, LAYERS, POOL_MATRIX, POOL_NORM, TOWER } from './tensor-names.ts';
import type { Connector, TileShape } from './vision-config.ts';

export interface VisionGraphOptions extends EncoderVariant {
  readonly shape: TileShape;
  /** Named as in safetensors. */
  readonly weights: WeightSource;
}

const KERNEL = `${TOWER}.embeddings.patch_embedding`;
const TABLE = `${TOWER}.embeddings.position_embedding`;

/** The normalizations before linear layers, each by the names of its tensors and its output. */
export function visionNorms({ tower }: TileShape): string[] {
  return Array.from({ length: tower.numLayers }, (_, layer) => layerOf(layer)).flatMap((layer) => [
    `${layer}.layer_norm1`,
    `${layer}.layer_norm2`,
  ]);
}

function layerOf(layer: number): string {
  return `${LAYERS}${layer}`;
}

/**
 * Describes a SigLIP tower and the connector to a text model as an ONNX graph.
 *
 * Input: `pixels` uint8 [tiles, side, side, 3]. Output: `embeddings` float [tiles, tokens, textSize].
 */
export function buildVisionGraph(options: VisionGraphOptions): GraphBuilder {
  return new VisionEmitter(options).emit();
}

type PoolConnector = Extract<Connector, { kind: 'pool' }>;

class VisionEmitter {
  readonly #graph = new GraphBuilder('vision');
  readonly #nodes: EncoderNodes;
  readonly #options: VisionGraphOptions;
  readonly #shape: TileShape;

  constructor(options: VisionGraphOptions) {
    this.#options = options;
    this.#shape = options.shape;
    this.#nodes = new EncoderNodes(this.#graph, options);
  }

  emit(): GraphBuilder {
    const graph = this.#graph;
    const { tower, tileSide, patches, connector, textSize } = this.#shape;
    const { hiddenSize, numLayers } = tower;
    graph.input('pixels', 'uint8', ['tiles', tileSide, tileSide, CHANNELS]);
    let sum = this.#embed();
    const first = graph.initializer('first', 'int64', [], BigInt64Array.of(0n));
    const rowsLike = graph.node('rows', 'Gather', [sum, first], { attributes: { axis: 1n } });
    let normed = this.#normalize(`${layerOf(0)}.layer_norm1`, sum);
    for (let layer = 0; layer < numLayers; layer++) {
      const name = layerOf(layer);
      const attended = this.#attend(name, { value: normed, rowsLike });
      const between = this.#normalizeSum(`${name}.layer_norm2`, attended, sum);
      const made = this.#feedForward(name, { value: between.normed, rowsLike });
      const isLast = layer === numLayers - 1;
      const next = isLast ? `${TOWER}.post_layernorm` : `${layerOf(layer + 1)}.layer_norm1`;
      ({ normed, sum } = this.#normalizeSum(next, made, between.sum));
    }
    const tokens = (patches / connector.side) ** 2;
    this.#reshape('embeddings', this.#connected(normed), [-1, tokens, textSize]);
    graph.output('embeddings', 'float', ['tiles', tokens, textSize]);
    for (const norm of this.#options.showsNorms ? visionNorms(this.#shape) : []) {
      graph.output(norm, 'float', ['patches', hiddenSize]);
    }
    return graph;
  }

  /** From bytes to patches with their places, [tiles * patches, channels]. */
  #embed(): string {
    const graph = this.#graph;
    const { tower, patches } = this.#shape;
    const { hiddenSize, patchSide } = tower;
    const width = patchSide * CHANNELS;
    const inRows = this.#reshape('patches/Rows', this.#wholePatches(), [
      -1,
      patches,
      patchSide,
      patches,
      width,
    ]);
    const squares = graph.node('patches/Squares', 'Transpose', [inRows], {
      attributes: { perm: [0n, 1n, 3n, 2n, 4n] },
    });
    const bytes = this.#reshape('patches/Bytes', squares, [-1, patchSide * width]);
    const one = graph.initializer('patches/one', 'float', [], Float32Array.of(1));
    const middle = graph.initializer('patches/middle', 'uint8', [], Uint8Array.of(MIDDLE));
    const values = graph.node('patches/Values', 'DequantizeLinear', [bytes, one, middle]);
    const { weights } = this.#options;
    const matrix = graph.initializer(
      `${KERNEL}.weight`,
      'float',
      [patchSide * width, hiddenSize],
      async () => patchWeights(await tileKernel(weights, KERNEL, this.#shape)),
    );
    const places = graph.initializer(`${TABLE}.weight`, 'float', [patches ** 2, hiddenSize], () =>
      patchPlaces(weights, { kernel: KERNEL, table: TABLE }, this.#shape),
    );
    const product = graph.node('patches/MatMul', 'MatMul', [values, matrix]);
    const tiles = this.#reshape('patches/Tiles', product, [-1, patches ** 2, hiddenSize]);
    const placed = graph.node('patches/Placed', 'Add', [tiles, places]);
    return this.#reshape('patches', placed, [-1, hiddenSize]);
  }

  /** Pixels without those at the right and below that fill no patch. */
  #wholePatches(): string {
    const { tower, tileSide, patches } = this.#shape;
    const end = patches * tower.patchSide;
    if (end === tileSide) return 'pixels';
    const graph = this.#graph;
    const ints = (name: string, values: readonly number[]) =>
      graph.initializer(`patches/${name}`, 'int64', [2], BigInt64Array.from(values, BigInt));
    const inputs = [
      'pixels',
      ints('starts', [0, 0]),
      ints('ends', [end, end]),
      ints('axes', [1, 2]),
    ];
    return graph.node('patches/Whole', 'Slice', inputs);
  }

  #attend(layer: string, input: Rows): string {
    const { tower, patches } = this.#shape;
    const { hiddenSize, numHeads } = tower;
    const name = `${layer}.self_attn`;
    const fused = this.#nodes.normalizedLinear(input, {
      name: `${name}.qkv`,
      inFeatures: hiddenSize,
      parts: ['q_proj', 'k_proj', 'v_proj'].map((part) => ({
        tensor: `${name}.${part}`,
        outFeatures: hiddenSize,
      })),
      bias: true,
    });
    const table = this.#reshape(`${name}/Table`, fused, [-1, patches ** 2, 3 * hiddenSize]);
    const attended = this.#nodes.attend(name, table, numHeads);
    const value = this.#reshape(`${name}/Rows`, attended, [-1, hiddenSize]);
    const { rowsLike } = input;
    return this.#linear({ value, rowsLike }, `${name}.out_proj`, hiddenSize, hiddenSize);
  }

  #feedForward(layer: string, input: Rows): string {
    const { hiddenSize, intermediateSize, activation } = this.#shape.tower;
    const tensor = `${layer}.mlp.fc1`;
    const wide = this.#nodes.normalizedLinear(input, {
      name: tensor,
      inFeatures: hiddenSize,
      parts: [{ tensor, outFeatures: intermediateSize }],
      bias: true,
    });
    const value = emitActivation(this.#graph, wide, activation);
    const { rowsLike } = input;
    return this.#linear({ value, rowsLike }, `${layer}.mlp.fc2`, intermediateSize, hiddenSize);
  }

  #linear(input: Rows, tensor: string, inFeatures: number, outFeatures: number): string {
    const parts = [{ tensor, outFeatures }];
    return this.#nodes.linear(input, { name: tensor, inFeatures, parts, bias: true });
  }

  /** Rows of the text model's width, of squares of neighbouring patches. */
  #connected(value: string): string {
    const { tower, connector, textSize } = this.#shape;
    if (connector.kind === 'pool') return this.#pooled(value, connector);
    const { side } = connector;
    return this.#nodes.floatLinear(this.#shuffled(value, side), {
      name: 'connector',
      inFeatures: tower.hiddenSize * side ** 2,
      parts: [{ tensor: CONNECTOR, outFeatures: textSize }],
      bias: false,
    });
  }

  /** Means of squares of neighbouring patches, normalized. */
  #pooled(value: string, { side, normEps }: PoolConnector): string {
    const graph = this.#graph;
    const { tower, patches, textSize } = this.#shape;
    const { hiddenSize } = tower;
    const squares = patches / side;
    const split = this.#reshape('pool/Split', value, [
      -1,
      squares,
      side,
      squares,
      side,
      hiddenSize,
    ]);
    const axes = graph.initializer('pool/axes', 'int64', [2], BigInt64Array.of(2n, 4n));
    const mean = graph.node('pool/Mean', 'ReduceMean', [split, axes], {
      attributes: { keepdims: 0n },
    });
    const rows = this.#reshape('pool', mean, [-1, hiddenSize]);
    const { weights } = this.#options;
    const weight = graph.initializer(POOL_NORM, 'float', [hiddenSize], async () =>
      (await weights.get(POOL_NORM, [hiddenSize])).map((each) => 1 + each),
    );
    const normed = emitRmsNorm(graph, 'pool/Norm', rows, weight, normEps);
    const matrix = graph.initializer(POOL_MATRIX, 'float', [hiddenSize, textSize], () =>
      weights.get(POOL_MATRIX, [hiddenSize, textSize]),
    );
    return graph.node('connector/MatMul', 'MatMul', [normed, matrix]);
  }

  /** Channels of neighbouring patches side by side: squares of them become rows. */
  #shuffled(value: string, shuffle: number): Rows {
    const { tower, patches } = this.#shape;
    const squares = patches / shuffle;
    const beside = shuffle * tower.hiddenSize;
    const split = this.#reshape('shuffle/Split', value, [-1, squares, shuffle, squares, beside]);
    const turned = this.#graph.node('shuffle/Turned', 'Transpose', [split], {
      attributes: { perm: [0n, 1n, 3n, 2n, 4n] },
    });
    const rows = this.#reshape('shuffle', turned, [-1, shuffle * beside]);
    return { value: rows, rowsLike: '' };
  }

  /** A normalization; its output has the name of its tensors. */
  #normalize(tensor: string, value: string): string {
    const { layerNormEps: epsilon } = this.#shape.tower;
    const inputs = [value, ...this.#normTensors(tensor)];
    const attributes = { axis: -1n, epsilon };
    return this.#graph.node(tensor, 'LayerNormalization', inputs, { attributes });
  }

  #normalizeSum(tensor: string, value: string, residual: string): { normed: string; sum: string } {
    const { layerNormEps: epsilon } = this.#shape.tower;
    const sum = `${tensor}/Sum`;
    const inputs = [value, residual, ...this.#normTensors(tensor)];
    const normed = this.#graph.node(tensor, 'SkipLayerNormalization', inputs, {
      outputs: [tensor, '', '', sum],
      domain: MICROSOFT_DOMAIN,
      attributes: { epsilon },
    });
    return { normed, sum };
  }

  #normTensors(tensor: string): string[] {
    const { hiddenSize } = this.#shape.tower;
    return ['weight', 'bias'].map((part) => this.#nodes.tensor(`${tensor}.${part}`, [hiddenSize]));
  }

  #reshape(name: string, value: string, dims: readonly number[]): string {
    const shape = BigInt64Array.from(dims, BigInt);
    const to = this.#graph.initializer(`${name}/shape`, 'int64', [dims.length], shape);
    return this.#graph.node(name, 'Reshape', [value, to]);
  }
}
