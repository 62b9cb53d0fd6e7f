import { GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { CHANNELS } from '../../images/pixels.ts';
import { EncoderNodes, type Rows } from '../encoder/encoder-nodes.ts';
import type { EncoderVariant } from '../encoder/write-encoder.ts';
import { emitActivation } from '../graph/activation.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { MIDDLE, patchPlaces, patchWeights, tileKernel } from './patch-embedding.ts';
import { tileTokens } from './siglip-tower.ts';
import { LAYERS, LINE_END, TOWER } from './tensor-names.ts';
import { emitConnector } from './tile-connector.ts';
import type { TileShape } from './vision-config.ts';

export interface VisionGraphOptions extends EncoderVariant {
  readonly shape: TileShape;
  /** Named as in safetensors. */
  readonly weights: WeightSource;
}

const KERNEL = `${TOWER}.embeddings.patch_embedding`;
const TABLE = `${TOWER}.embeddings.position_embedding`;
const CLASS_TOKEN = `${TOWER}.embeddings.class_embedding`;

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
 * Describes a tower over tiles and the connector to a text model as an ONNX graph.
 *
 * Input: `pixels` uint8 [tiles, side, side, 3]. Output: `embeddings` float [tiles, tokens, textSize].
 */
export function buildVisionGraph(options: VisionGraphOptions): GraphBuilder {
  return new VisionEmitter(options).emit();
}

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
    const { hiddenSize, numLayers, style, outputNorm } = tower;
    graph.input('pixels', 'uint8', ['tiles', tileSide, tileSide, CHANNELS]);
    const embedded = this.#embed();
    let sum = style.inputNorm ? this.#normalize(`${TOWER}.pre_layrnorm`, embedded) : embedded;
    const first = graph.initializer('first', 'int64', [], BigInt64Array.of(0n));
    const rowsLike = graph.node('rows', 'Gather', [sum, first], { attributes: { axis: 1n } });
    let normed = this.#normalize(`${layerOf(0)}.layer_norm1`, sum);
    for (let layer = 0; layer < numLayers; layer++) {
      const name = layerOf(layer);
      const attended = this.#attend(name, { value: normed, rowsLike });
      const between = this.#normalizeSum(`${name}.layer_norm2`, attended, sum);
      const made = this.#feedForward(name, { value: between.normed, rowsLike });
      const isLast = layer === numLayers - 1;
      if (isLast && !outputNorm) {
        normed = graph.node('seen', 'Add', [made, between.sum]);
        break;
      }
      const next = isLast ? `${TOWER}.post_layernorm` : `${layerOf(layer + 1)}.layer_norm1`;
      ({ normed, sum } = this.#normalizeSum(next, made, between.sum));
    }
    const tokens = (patches / connector.side) ** 2;
    const { weights } = this.#options;
    const into = { graph, nodes: this.#nodes, weights, shape: this.#shape };
    const connected = emitConnector(into, this.#withoutClassToken(normed));
    const dims = [-1, tokens, textSize];
    const endsLines = this.#shape.lineEnd === true;
    if (endsLines) this.#endLines(this.#reshape('connected', connected, dims), tokens);
    else this.#reshape('embeddings', connected, dims);
    graph.output('embeddings', 'float', ['tiles', tokens + (endsLines ? 1 : 0), textSize]);
    for (const norm of this.#options.showsNorms ? visionNorms(this.#shape) : []) {
      graph.output(norm, 'float', ['patches', hiddenSize]);
    }
    return graph;
  }

  /** Adds a row to those of each tile: zeros, to which a table of zeros before that row is added. */
  #endLines(rows: string, tokens: number): string {
    const graph = this.#graph;
    const { textSize } = this.#shape;
    const pads = BigInt64Array.of(0n, 0n, 0n, 0n, 1n, 0n);
    const padded = graph.node('ends/Padded', 'Pad', [
      rows,
      graph.initializer('ends/pads', 'int64', [6], pads),
    ]);
    const ends = graph.initializer(LINE_END, 'float', [tokens + 1, textSize], async () => {
      const table = new Float32Array((tokens + 1) * textSize);
      table.set(await this.#options.weights.get(LINE_END, [textSize]), tokens * textSize);
      return table;
    });
    return graph.node('embeddings', 'Add', [padded, ends]);
  }

  get #tokens(): number {
    return tileTokens(this.#shape.patches, this.#shape.tower);
  }

  /** Rows of patches alone, [tiles * patches, channels]. */
  #withoutClassToken(value: string): string {
    const { hiddenSize, style } = this.#shape.tower;
    if (!style.classToken) return value;
    const table = this.#reshape('seen/Tiles', value, [-1, this.#tokens, hiddenSize]);
    const bounds = [1, this.#tokens, 1].map((bound, at) =>
      this.#graph.initializer(`seen/bound${at}`, 'int64', [1], BigInt64Array.of(BigInt(bound))),
    );
    const patches = this.#graph.node('seen/Patches', 'Slice', [table, ...bounds]);
    return this.#reshape('seen/Rows', patches, [-1, hiddenSize]);
  }

  /** From bytes to tokens with their places, [tiles * tokens, channels]. */
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
    const tensors = { kernel: KERNEL, table: TABLE, classToken: CLASS_TOKEN };
    const places = graph.initializer(`${TABLE}.weight`, 'float', [this.#tokens, hiddenSize], () =>
      patchPlaces(weights, tensors, this.#shape),
    );
    const product = graph.node('patches/MatMul', 'MatMul', [values, matrix]);
    const tiles = this.#reshape('patches/Tiles', product, [-1, patches ** 2, hiddenSize]);
    const placed = graph.node('patches/Placed', 'Add', [this.#withPlace(tiles), places]);
    return this.#reshape('patches', placed, [-1, hiddenSize]);
  }

  /** Zeros where the class token comes, before the patches of each tile. */
  #withPlace(tiles: string): string {
    if (!this.#shape.tower.style.classToken) return tiles;
    const pads = BigInt64Array.of(0n, 1n, 0n, 0n, 0n, 0n);
    const around = this.#graph.initializer('patches/pads', 'int64', [6], pads);
    return this.#graph.node('patches/Tokens', 'Pad', [tiles, around]);
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
    const { hiddenSize, numHeads } = this.#shape.tower;
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
    const table = this.#reshape(`${name}/Table`, fused, [-1, this.#tokens, 3 * hiddenSize]);
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
