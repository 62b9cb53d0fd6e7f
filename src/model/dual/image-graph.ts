import { CHANNELS } from '../../images/pixels.ts';
import { GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { EncoderNodes } from '../encoder/encoder-nodes.ts';
import { emitLayers } from '../encoder/encoder-layers.ts';
import { EncoderOps } from '../encoder/encoder-ops.ts';
import { normOutputs } from '../encoder/encoder-shape.ts';
import { emitUnit } from '../encoder/output-heads.ts';
import type { EncoderVariant } from '../encoder/write-encoder.ts';
import { emitActivation } from '../graph/activation.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import {
  MIDDLE,
  patchConstant,
  type PatchKernel,
  patchWeights,
} from '../vision/patch-embedding.ts';
import { IMAGE_TOWER, type ImageShape } from './dual-config.ts';

export interface ImageGraphOptions extends EncoderVariant {
  readonly shape: ImageShape;
  /** Named as in safetensors. */
  readonly weights: WeightSource;
}

const EMBEDDINGS = `${IMAGE_TOWER}.embeddings`;
const HEAD = `${IMAGE_TOWER}.head`;
/** A value with as many elements as the graph has tokens. */
const ROWS = 'rows';

/**
 * Describes an image tower of CLIP or SigLIP as an ONNX graph.
 *
 * Input: `pixels` uint8 [images, side, side, 3]. Output: `embeddings` float [images, dim], of length 1.
 */
export function buildImageGraph(options: ImageGraphOptions): GraphBuilder {
  return new ImageEmitter(options).emit();
}

class ImageEmitter {
  readonly #graph = new GraphBuilder('images');
  readonly #options: ImageGraphOptions;
  readonly #shape: ImageShape;
  readonly #ops: EncoderOps;
  readonly #nodes: EncoderNodes;
  /** Tokens of an image. */
  readonly #tokens: number;
  readonly #width: number;

  constructor(options: ImageGraphOptions) {
    const { shape } = options;
    this.#options = options;
    this.#shape = shape;
    this.#ops = new EncoderOps(this.#graph, shape.layers, options, ROWS);
    this.#nodes = new EncoderNodes(this.#graph, options);
    this.#tokens = numTokens(shape);
    this.#width = shape.layers.hiddenSize;
  }

  emit(): GraphBuilder {
    const graph = this.#graph;
    const { layers, imageSide, dim, pooling } = this.#shape;
    graph.input('pixels', 'uint8', ['images', imageSide, imageSide, CHANNELS]);
    const isOfToken = pooling === 'class token';
    const placed = this.#embed();
    const input = isOfToken ? this.#ops.norm(`${IMAGE_TOWER}.pre_layrnorm`, placed) : placed;
    graph.node(ROWS, 'Gather', [input, this.#ops.int64('first', 0)], { attributes: { axis: 1n } });
    const heads = layers.numHeads;
    const hidden = emitLayers(this.#ops, layers, input, (name, fused) => {
      const table = this.#reshape(`${name}/Table`, fused, -1, this.#tokens, 3 * this.#width);
      const attended = this.#nodes.attend(name, table, heads);
      return this.#reshape(`${name}/Rows`, attended, -1, this.#width);
    });
    const vectors = isOfToken ? this.#projected(hidden) : this.#pooled(hidden);
    emitUnit(this.#ops, 'embeddings', vectors);
    graph.output('embeddings', 'float', ['images', dim]);
    const shown = this.#options.showsNorms ? normOutputs(layers) : [];
    for (const norm of shown) graph.output(norm, 'float', ['tokens', this.#width]);
    return graph;
  }

  /** From bytes to tokens with their places, [images * tokens, channels]. */
  #embed(): string {
    const { patches, patchSide } = this.#shape;
    const line = patchSide * CHANNELS;
    const cut = this.#reshape(
      'patches/Rows',
      this.#wholePatches(),
      -1,
      patches,
      patchSide,
      patches,
      line,
    );
    const squares = this.#graph.node('patches/Squares', 'Transpose', [cut], {
      attributes: { perm: [0n, 1n, 3n, 2n, 4n] },
    });
    const bytes = this.#reshape('patches/Bytes', squares, -1, patchSide * line);
    const middle = this.#graph.initializer('patches/middle', 'uint8', [], Uint8Array.of(MIDDLE));
    const one = this.#ops.float('patches/one', 1);
    const values = this.#graph.node('patches/Values', 'DequantizeLinear', [bytes, one, middle]);
    const matrix = this.#ops.made('patches/matrix', [patchSide * line, this.#width], async () =>
      patchWeights(await this.#kernel()),
    );
    const product = this.#graph.node('patches/MatMul', 'MatMul', [values, matrix]);
    const images = this.#reshape('patches/Images', product, -1, patches ** 2, this.#width);
    const before = this.#tokens - patches ** 2;
    const pads = this.#ops.int64s('patches/pads', 0, before, 0, 0, 0, 0);
    const tokens = before === 0 ? images : this.#graph.node('tokens', 'Pad', [images, pads]);
    const places = this.#ops.made('places', [this.#tokens, this.#width], () => this.#places());
    const placed = this.#graph.node('patches/Placed', 'Add', [tokens, places]);
    return this.#reshape('patches', placed, -1, this.#width);
  }

  /** Pixels without those at the right and below that fill no patch. */
  #wholePatches(): string {
    const { imageSide, patches, patchSide } = this.#shape;
    const end = patches * patchSide;
    if (end === imageSide) return 'pixels';
    const [starts, ends, axes] = [
      this.#ops.int64s('patches/starts', 0, 0),
      this.#ops.int64s('patches/ends', end, end),
      this.#ops.int64s('patches/axes', 1, 2),
    ];
    return this.#graph.node('patches/Whole', 'Slice', ['pixels', starts, ends, axes]);
  }

  async #kernel(): Promise<PatchKernel> {
    const { patchSide, rescale, mean, std } = this.#shape;
    const shape = [this.#width, CHANNELS, patchSide, patchSide];
    const values = await this.#ops.read(`${EMBEDDINGS}.patch_embedding.weight`, shape);
    return { values, hiddenSize: this.#width, area: patchSide ** 2, rescale, mean, std };
  }

  /** [tokens, channels]: positions, with the token before the patches, and what MIDDLE and the mean leave of these. */
  async #places(): Promise<Float32Array> {
    const width = this.#width;
    const table = `${EMBEDDINGS}.position_embedding.weight`;
    const places = Float32Array.from(await this.#ops.read(table, [this.#tokens, width]));
    const isOfToken = this.#shape.pooling === 'class token';
    const bias = isOfToken
      ? new Float32Array(width)
      : await this.#ops.read(`${EMBEDDINGS}.patch_embedding.bias`, [width]);
    const constant = patchConstant(await this.#kernel(), bias);
    const token = isOfToken ? await this.#ops.read(`${EMBEDDINGS}.class_embedding`, [width]) : null;
    for (let at = 0; at < places.length; at++) {
      const added = token !== null && at < width ? token : constant;
      places[at] = (places[at] ?? 0) + (added[at % width] ?? 0);
    }
    return places;
  }

  /** CLIP's: the first token. */
  #projected(hidden: string): string {
    const table = this.#reshape('last', hidden, -1, this.#tokens, this.#width);
    const first = this.#graph.node('last/First', 'Gather', [table, 'first'], {
      attributes: { axis: 1n },
    });
    const normed = this.#ops.norm(`${IMAGE_TOWER}.post_layernorm`, first);
    return this.#ops.dense(normed, 'visual_projection', this.#shape.dim, false);
  }

  /** SigLIP's: a query that is the same for all images attends to their tokens. */
  #pooled(hidden: string): string {
    const graph = this.#graph;
    const { intermediateSize, activation, numHeads } = this.#shape.layers;
    const width = this.#width;
    const normed = this.#ops.norm(`${IMAGE_TOWER}.post_layernorm`, hidden);
    const both = this.#ops.dense(normed, KEYS_AND_VALUES, 2 * width, true);
    const table = this.#reshape('pool/Table', both, -1, this.#tokens, 2 * width);
    const parts = ['pool/key', 'pool/value'];
    graph.node('pool/Split', 'Split', [table], {
      outputs: parts,
      attributes: { axis: -1n, num_outputs: 2n },
    });
    const query = this.#ops.made('pool/probe', [1, 1, width], () => this.#probe());
    const images = graph.node('pool/Images', 'Shape', ['pixels'], {
      attributes: { start: 0n, end: 1n },
    });
    const sizes = graph.node(
      'pool/Sizes',
      'Concat',
      [images, this.#ops.int64s('pool/one', 1, width)],
      {
        attributes: { axis: 0n },
      },
    );
    const queries = graph.node('pool/Queries', 'Expand', [query, sizes]);
    const attended = graph.node('pool', 'MultiHeadAttention', [queries, ...parts], {
      domain: MICROSOFT_DOMAIN,
      attributes: { num_heads: BigInt(numHeads) },
    });
    const rows = this.#reshape('pool/Rows', attended, -1, width);
    const out = this.#ops.dense(rows, `${HEAD}.attention.out_proj`, width, true);
    const read = this.#ops.norm(`${HEAD}.layernorm`, out);
    const wide = this.#ops.dense(read, `${HEAD}.mlp.fc1`, intermediateSize, true);
    const active = emitActivation(graph, wide, activation);
    const made = this.#nodes.floatLinear(
      { value: active, rowsLike: ROWS },
      {
        name: `${HEAD}.mlp.fc2`,
        inFeatures: intermediateSize,
        parts: [{ tensor: `${HEAD}.mlp.fc2`, outFeatures: width }],
        bias: true,
      },
    );
    return this.#ops.add(made, out);
  }

  /** The query of all images, [channels]. */
  async #probe(): Promise<Float32Array> {
    const width = this.#width;
    const matrix = await this.#ops.read(`${QUERY}.weight`, [width, width]);
    const bias = await this.#ops.read(`${QUERY}.bias`, [width]);
    const probe = await this.#ops.read(`${HEAD}.probe`, [1, 1, width]);
    return bias.map((sum, row) => {
      let made = sum;
      for (let at = 0; at < width; at++) made += (matrix[row * width + at] ?? 0) * (probe[at] ?? 0);
      return made;
    });
  }

  #reshape(name: string, value: string, ...dims: readonly number[]): string {
    return this.#graph.node(name, 'Reshape', [value, this.#ops.int64s(`${name}/shape`, ...dims)]);
  }
}

/** Tokens that a tower computes for an image. */
export function numTokens({ patches, pooling }: ImageShape): number {
  return patches ** 2 + (pooling === 'class token' ? 1 : 0);
}

const POOL = `${HEAD}.attention.in_proj`;
const QUERY = `${POOL}.query`;
const KEYS_AND_VALUES = `${POOL}.keys_and_values`;

/** Weights of an image tower; those of its pooling are one tensor in the file, and two for the graph. */
export function imageWeights(checkpoint: WeightSource): WeightSource {
  return {
    get: async (name, shape) => {
      const [tensor, first] = name.startsWith(QUERY) ? [QUERY, 0] : [KEYS_AND_VALUES, 1];
      if (!name.startsWith(tensor)) return checkpoint.get(name, shape);
      const [rows = 0, ...columns] = shape;
      const width = first === 0 ? rows : rows / 2;
      const stored = name.replace(`${tensor}.`, `${POOL}_`);
      const values = await checkpoint.get(stored, [3 * width, ...columns]);
      const start = (first * values.length) / 3;
      return values.subarray(start, start + (values.length * rows) / (3 * width));
    },
    close: () => checkpoint.close(),
  };
}
