import { CHANNELS } from '../../images/pixels.ts';
import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { EncoderNodes, type Rows } from '../encoder/encoder-nodes.ts';
import type { EncoderVariant } from '../encoder/write-encoder.ts';
import { emitActivation, emitGated } from '../graph/activation.ts';
import type { LinearLayer } from '../graph/linear.ts';
import { emitRmsNorm } from '../graph/rms-norm.ts';
import { rotateHeads, type Rotation } from '../graph/rotate-heads.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { emitProjector } from './grid-projector.ts';
import type { GridMerger, GridShape } from './grid-shape.ts';
import { NEIGHBOURS } from './vision-inputs.ts';
import { MIDDLE, patchConstant, type PatchKernel, patchWeights } from './patch-embedding.ts';

export interface GridGraphOptions extends EncoderVariant {
  readonly shape: GridShape;
  /** Named as in safetensors. */
  readonly weights: WeightSource;
}

const MERGER = 'visual.merger';
const KERNEL = 'visual.patch_embed.proj';
const TABLE = 'visual.pos_embed';
const INPUT_NORM = 'visual.input_norm';

/** The normalizations before linear layers that int8 smooths, each by the names of its tensors and its output. */
export function gridNorms({ tower }: GridShape): string[] {
  const layers = Array.from({ length: tower.numLayers }, (_, layer) => layerOf(layer));
  return layers.flatMap((layer) => [`${layer}.norm1`, `${layer}.norm2`]);
}

function layerOf(layer: number): string {
  return `visual.blocks.${layer}`;
}

/**
 * Describes the tower of Qwen2-VL, Qwen2.5-VL, Qwen3-VL or Pixtral, and what merges its patches, as an ONNX graph
 * over one image.
 *
 * Inputs: those of visionInputs. Output: `embeddings` float [tokens, textSize]; beside them those of earlier
 * layers, where the text model gets them.
 */
export function buildGridGraph(options: GridGraphOptions): GraphBuilder {
  return new GridEmitter(options).emit();
}

class GridEmitter {
  readonly #graph = new GraphBuilder('vision');
  readonly #nodes: EncoderNodes;
  readonly #options: GridGraphOptions;
  readonly #shape: GridShape;

  constructor(options: GridGraphOptions) {
    this.#options = options;
    this.#shape = options.shape;
    this.#nodes = new EncoderNodes(this.#graph, options);
  }

  emit(): GraphBuilder {
    const graph = this.#graph;
    const { tower, textSize } = this.#shape;
    const { hiddenSize, numLayers, windows, deepLayers } = tower;
    graph.initializer('first', 'int64', [], BigInt64Array.of(0n));
    let sum = this.#embed();
    const rotation = this.#rotation();
    if (windows !== null) this.#declareWindows(windows.cells);
    const deeper: string[] = [];
    for (let layer = 0; layer < numLayers; layer++) {
      const name = layerOf(layer);
      const attended = this.#attend(layer, this.#normalize(`${name}.norm1`, sum), rotation);
      sum = graph.node(`${name}/Attended`, 'Add', [sum, attended]);
      const made = this.#feedForward(name, this.#normalize(`${name}.norm2`, sum));
      sum = graph.node(`${name}/Sum`, 'Add', [sum, made]);
      if (deepLayers.includes(layer)) deeper.push(...this.#mergeDeep(deeper.length, sum));
    }
    const merged = this.#tokens(sum);
    const width = textSize * (1 + deeper.length);
    const all = graph.node('Together', 'Concat', [merged, ...deeper], { attributes: { axis: 1n } });
    this.#reshape('embeddings', all, [-1, width]);
    graph.output('embeddings', 'float', ['tokens', width]);
    for (const norm of this.#options.showsNorms ? gridNorms(this.#shape) : []) {
      graph.output(norm, 'float', ['patches', hiddenSize]);
    }
    return graph;
  }

  /** Channels of the patches of a cell side by side. */
  get #beside(): number {
    return this.#shape.tower.hiddenSize * this.#shape.merge ** 2;
  }

  /** From patches to tokens of the text model. */
  #tokens(sum: string): string {
    const { connector } = this.#shape;
    if (connector.kind === 'projector') {
      const into = { graph: this.#graph, nodes: this.#nodes, shape: this.#shape };
      return emitProjector(into, connector, sum);
    }
    const normed = this.#normalize(`${MERGER}.${connector.norm}`, sum);
    const cells = this.#reshape('cells', normed, [-1, this.#beside]);
    return this.#merge(MERGER, connector, cells);
  }

  /** Rows that the text model gets of a layer's sum: here the norm is over whole cells. */
  #mergeDeep(index: number, sum: string): string[] {
    const { connector } = this.#shape;
    if (connector.kind === 'projector') return [];
    const name = `visual.deepstack_merger_list.${index}`;
    const cells = this.#reshape(`${name}/Cells`, sum, [-1, this.#beside]);
    const normed = this.#normalize(`${name}.${connector.norm}`, cells, this.#beside);
    return [this.#merge(name, connector, normed)];
  }

  /** From cells to tokens of the text model. */
  #merge(name: string, { layers }: GridMerger, cells: string): string {
    const { textSize } = this.#shape;
    const [first, second] = layers;
    const wide = this.#linear(cells, `${name}.${first}`, this.#beside, this.#beside);
    const value = emitActivation(this.#graph, wide, 'gelu');
    return this.#linear(value, `${name}.${second}`, this.#beside, textSize);
  }

  /** From bytes to [patches, channels]. */
  #embed(): string {
    const graph = this.#graph;
    const { hiddenSize, patchSide, tableSide, inputNorm } = this.#shape.tower;
    const size = patchSide ** 2 * CHANNELS;
    const pixels = graph.input('pixels', 'uint8', ['patches', size]);
    const one = graph.initializer('patches/one', 'float', [], Float32Array.of(1));
    const middle = graph.initializer('patches/middle', 'uint8', [], Uint8Array.of(MIDDLE));
    const values = graph.node('patches/Values', 'DequantizeLinear', [pixels, one, middle]);
    const matrix = graph.initializer(`${KERNEL}.weight`, 'float', [size, hiddenSize], async () =>
      patchWeights(await this.#kernel()),
    );
    const bias = graph.initializer(`${KERNEL}.bias`, 'float', [hiddenSize], async () => {
      const { weights } = this.#options;
      const stored =
        tableSide === null
          ? new Float32Array(hiddenSize)
          : await weights.get(`${KERNEL}.bias`, [hiddenSize]);
      return Float32Array.from(patchConstant(await this.#kernel(), stored));
    });
    const product = graph.node('patches/MatMul', 'MatMul', [values, matrix]);
    const patches = graph.node('patches', 'Add', [product, bias]);
    if (inputNorm) return this.#normalize(INPUT_NORM, patches);
    if (tableSide === null) return patches;
    return graph.node('patches/Placed', 'Add', [patches, this.#positions(tableSide)]);
  }

  /** Positions of patches from four neighbours each in the table. */
  #positions(tableSide: number): string {
    const graph = this.#graph;
    const table = this.#nodes.tensor(`${TABLE}.weight`, [
      tableSide ** 2,
      this.#shape.tower.hiddenSize,
    ]);
    const places = graph.input('table_rows', 'int64', ['patches', NEIGHBOURS]);
    const shares = graph.input('table_shares', 'float', ['patches', NEIGHBOURS, 1]);
    const rows = graph.node(`${TABLE}/Rows`, 'Gather', [table, places]);
    const shared = graph.node(`${TABLE}/Shared`, 'Mul', [rows, shares]);
    const axis = graph.initializer(`${TABLE}/axis`, 'int64', [1], BigInt64Array.of(1n));
    return graph.node(TABLE, 'ReduceSum', [shared, axis], { attributes: { keepdims: 0n } });
  }

  /** An image is the same in all frames: their weights are added. */
  async #kernel(): Promise<PatchKernel> {
    const { weights, shape } = this.#options;
    const { tower, rescale, mean, std } = shape;
    const { hiddenSize, patchSide, frames } = tower;
    const area = patchSide ** 2;
    const dims = [hiddenSize, CHANNELS, frames, patchSide, patchSide];
    const stored = await weights.get(`${KERNEL}.weight`, dims);
    const values = Float32Array.from({ length: stored.length / frames }, (_, at) => {
      const first = Math.floor(at / area) * frames * area + (at % area);
      let sum = 0;
      for (let frame = 0; frame < frames; frame++) sum += stored[first + frame * area] ?? 0;
      return sum;
    });
    return { values, hiddenSize, area, rescale, mean, std };
  }

  /** Rotation by each patch's angles, [patches, head_dim / 2] of them: half by its row, half by its column. */
  #rotation(): Rotation {
    const graph = this.#graph;
    const { ropeTheta, rotation } = this.#shape.tower;
    const pairs = this.#heads.headDim / 2;
    const ofAxis = pairs / 2;
    // For rows, and for columns.
    const starts = rotation === 'same' ? [0, 0] : [0, 0.5];
    const rates = starts.flatMap((start) =>
      Array.from({ length: ofAxis }, (_, pair) => ropeTheta ** (-(pair + start) / ofAxis)),
    );
    const values = Float32Array.from(rates);
    const frequencies = graph.initializer('angles/frequencies', 'float', [2, ofAxis], values);
    const places = graph.input('places', 'int64', ['patches', 2]);
    const floats = graph.node('angles/Places', 'Cast', [places], { attributes: { to: 1n } });
    const last = graph.initializer('angles/last', 'int64', [1], BigInt64Array.of(2n));
    const column = graph.node('angles/Column', 'Unsqueeze', [floats, last]);
    const table = graph.node('angles/Table', 'Mul', [column, frequencies]);
    const angles = this.#reshape('angles', table, [-1, pairs]);
    return {
      positions: graph.initializer('angles/begin', 'int64', [1], BigInt64Array.of(0n)),
      tables: [
        graph.node('angles/Cos', 'Cos', [angles]),
        graph.node('angles/Sin', 'Sin', [angles]),
      ],
      dims: [1, -1],
    };
  }

  get #heads() {
    const { hiddenSize, numHeads } = this.#shape.tower;
    return { numHeads, numKvHeads: numHeads, headDim: hiddenSize / numHeads };
  }

  #declareWindows(cells: number): void {
    const size = (cells * this.#shape.merge) ** 2;
    this.#graph.input('windows', 'int64', ['windows', size]);
    this.#graph.input('window_lengths', 'int32', ['windows']);
    this.#graph.input('window_places', 'int64', ['patches']);
  }

  #attend(layer: number, normed: string, rotation: Rotation): string {
    const { hiddenSize, numHeads, windows, tensors, bias } = this.#shape.tower;
    const graph = this.#graph;
    const name = `${layerOf(layer)}.attn`;
    const outFeatures = (3 * hiddenSize) / tensors.attention.length;
    const fused = this.#nodes.normalizedLinear(this.#rows(normed), {
      name: `${name}.qkv`,
      inFeatures: hiddenSize,
      parts: tensors.attention.map((part) => ({ tensor: `${name}.${part}`, outFeatures })),
      bias,
    });
    const turned = rotateHeads(graph, this.#heads, fused, rotation);
    const isInWindows = windows !== null && !windows.exceptLayers.includes(layer);
    const table = isInWindows
      ? graph.node(`${name}/Windows`, 'Gather', [turned, 'windows'])
      : this.#reshape(`${name}/Table`, turned, [1, -1, 3 * hiddenSize]);
    const lengths = isInWindows ? 'window_lengths' : undefined;
    const attended = this.#nodes.attend(name, table, numHeads, lengths);
    const flat = this.#reshape(`${name}/Flat`, attended, [-1, hiddenSize]);
    const value = isInWindows
      ? graph.node(`${name}/Placed`, 'Gather', [flat, 'window_places'])
      : flat;
    return this.#linear(value, `${name}.proj`, hiddenSize, hiddenSize);
  }

  #feedForward(layer: string, normed: string): string {
    const { hiddenSize, intermediateSize, activation, tensors, bias } = this.#shape.tower;
    const first: LinearLayer = {
      name: `${layer}.mlp.first`,
      inFeatures: hiddenSize,
      parts: tensors.first.map((part) => ({
        tensor: `${layer}.mlp.${part}`,
        outFeatures: intermediateSize,
      })),
      bias,
    };
    const wide = this.#nodes.normalizedLinear(this.#rows(normed), first);
    const graph = this.#graph;
    const isGated = tensors.first.length > 1;
    const value = isGated
      ? emitGated(graph, `${layer}.mlp`, wide, activation)
      : emitActivation(graph, wide, activation);
    return this.#linear(value, `${layer}.mlp.${tensors.down}`, intermediateSize, hiddenSize);
  }

  #linear(value: string, tensor: string, inFeatures: number, outFeatures: number): string {
    const parts = [{ tensor, outFeatures }];
    const { bias } = this.#shape.tower;
    return this.#nodes.linear(this.#rows(value), { name: tensor, inFeatures, parts, bias });
  }

  #rows(value: string): Rows {
    const rowsLike = this.#graph.node(`${value}/Rows`, 'Gather', [value, 'first'], {
      attributes: { axis: 1n },
    });
    return { value, rowsLike };
  }

  /** A normalization; its output has the name of its tensors. */
  #normalize(tensor: string, value: string, width = this.#shape.tower.hiddenSize): string {
    const { norms, normEps: epsilon } = this.#shape.tower;
    const weight = this.#nodes.tensor(`${tensor}.weight`, [width]);
    if (norms === 'rms') return emitRmsNorm(this.#graph, tensor, value, weight, epsilon);
    const inputs = [value, weight, this.#nodes.tensor(`${tensor}.bias`, [width])];
    const attributes = { axis: -1n, epsilon };
    return this.#graph.node(tensor, 'LayerNormalization', inputs, { attributes });
  }

  #reshape(name: string, value: string, dims: readonly number[]): string {
    const shape = BigInt64Array.from(dims, BigInt);
    const to = this.#graph.initializer(`${name}/shape`, 'int64', [dims.length], shape);
    return this.#graph.node(name, 'Reshape', [value, to]);
  }
}
