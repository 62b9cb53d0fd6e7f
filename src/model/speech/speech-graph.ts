import { GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { EncoderNodes, type Rows } from '../encoder/encoder-nodes.ts';
import { emitActivation } from '../graph/activation.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import type { SpeechShape } from './speech-config.ts';

export interface SpeechGraphOptions {
  readonly shape: SpeechShape;
  /** Named as in safetensors. */
  readonly weights: WeightSource;
}

const ENCODER = 'model.encoder';
const EPSILON = 1e-5;
/** Frames that a convolution reads, and those before the first. */
const KERNEL = 3;
const PADDING = 1;

/**
 * Describes an encoder of speech as an ONNX graph.
 *
 * Input: `features` float [windows, mels, frames]. Output: `embeddings` float [windows, positions, hidden].
 */
export function buildSpeechGraph(options: SpeechGraphOptions): GraphBuilder {
  return new SpeechEmitter(options).emit();
}

class SpeechEmitter {
  readonly #graph = new GraphBuilder('speech');
  readonly #nodes: EncoderNodes;
  readonly #shape: SpeechShape;

  constructor({ shape, weights }: SpeechGraphOptions) {
    this.#shape = shape;
    this.#nodes = new EncoderNodes(this.#graph, { weights, precision: 'fp32' });
  }

  emit(): GraphBuilder {
    const graph = this.#graph;
    const { numMels, numFrames, numPositions, hiddenSize, numLayers } = this.#shape;
    graph.input('features', 'float', ['windows', numMels, numFrames]);
    let sum = this.#embed();
    const first = graph.initializer('first', 'int64', [], BigInt64Array.of(0n));
    const rowsLike = graph.node('rows', 'Gather', [sum, first], { attributes: { axis: 1n } });
    let normed = this.#normalize(`${layerOf(0)}.self_attn_layer_norm`, sum);
    for (let layer = 0; layer < numLayers; layer++) {
      const name = layerOf(layer);
      const attended = this.#attend(name, { value: normed, rowsLike });
      const between = this.#normalizeSum(`${name}.final_layer_norm`, attended, sum);
      const made = this.#feedForward(name, { value: between.normed, rowsLike });
      const isLast = layer === numLayers - 1;
      const next = isLast ? `${ENCODER}.layer_norm` : `${layerOf(layer + 1)}.self_attn_layer_norm`;
      ({ normed, sum } = this.#normalizeSum(next, made, between.sum));
    }
    this.#reshape('embeddings', normed, [-1, numPositions, hiddenSize]);
    graph.output('embeddings', 'float', ['windows', numPositions, hiddenSize]);
    return graph;
  }

  /** From frames to positions, [windows * positions, channels]. */
  #embed(): string {
    const graph = this.#graph;
    const { numMels, numPositions, hiddenSize } = this.#shape;
    const near = this.#convolve('conv1', 'features', numMels, 1);
    const heard = this.#convolve('conv2', near, hiddenSize, 2);
    const inRows = graph.node('positions/Rows', 'Transpose', [heard], {
      attributes: { perm: [0n, 2n, 1n] },
    });
    const table = `${ENCODER}.embed_positions.weight`;
    const places = this.#nodes.tensor(table, [numPositions, hiddenSize]);
    const placed = graph.node('positions/Placed', 'Add', [inRows, places]);
    return this.#reshape('positions', placed, [-1, hiddenSize]);
  }

  #convolve(part: string, value: string, channels: number, stride: number): string {
    const { hiddenSize } = this.#shape;
    const name = `${ENCODER}.${part}`;
    const kernel = this.#nodes.tensor(`${name}.weight`, [hiddenSize, channels, KERNEL]);
    const bias = this.#nodes.tensor(`${name}.bias`, [hiddenSize]);
    const made = this.#graph.node(name, 'Conv', [value, kernel, bias], {
      attributes: {
        kernel_shape: [BigInt(KERNEL)],
        pads: [BigInt(PADDING), BigInt(PADDING)],
        strides: [BigInt(stride)],
      },
    });
    return emitActivation(this.#graph, made, 'gelu');
  }

  #attend(layer: string, input: Rows): string {
    const { hiddenSize, numHeads, numPositions } = this.#shape;
    const name = `${layer}.self_attn`;
    const fused = this.#nodes.linear(input, {
      name: `${name}.qkv`,
      inFeatures: hiddenSize,
      parts: ['q_proj', 'k_proj', 'v_proj'].map((part) => ({
        tensor: `${name}.${part}`,
        outFeatures: hiddenSize,
      })),
      bias: true,
    });
    const table = this.#reshape(`${name}/Table`, fused, [-1, numPositions, 3 * hiddenSize]);
    const attended = this.#nodes.attend(name, table, numHeads);
    const value = this.#reshape(`${name}/Rows`, attended, [-1, hiddenSize]);
    const { rowsLike } = input;
    return this.#linear({ value, rowsLike }, `${name}.out_proj`, hiddenSize, hiddenSize);
  }

  #feedForward(layer: string, input: Rows): string {
    const { hiddenSize, intermediateSize, activation } = this.#shape;
    const wide = this.#linear(input, `${layer}.fc1`, hiddenSize, intermediateSize);
    const value = emitActivation(this.#graph, wide, activation);
    const { rowsLike } = input;
    return this.#linear({ value, rowsLike }, `${layer}.fc2`, intermediateSize, hiddenSize);
  }

  #linear(input: Rows, tensor: string, inFeatures: number, outFeatures: number): string {
    const parts = [{ tensor, outFeatures }];
    return this.#nodes.linear(input, { name: tensor, inFeatures, parts, bias: true });
  }

  #normalize(tensor: string, value: string): string {
    const attributes = { axis: -1n, epsilon: EPSILON };
    const inputs = [value, ...this.#normTensors(tensor)];
    return this.#graph.node(tensor, 'LayerNormalization', inputs, { attributes });
  }

  #normalizeSum(tensor: string, value: string, residual: string): { normed: string; sum: string } {
    const sum = `${tensor}/Sum`;
    const inputs = [value, residual, ...this.#normTensors(tensor)];
    const normed = this.#graph.node(tensor, 'SkipLayerNormalization', inputs, {
      outputs: [tensor, '', '', sum],
      domain: MICROSOFT_DOMAIN,
      attributes: { epsilon: EPSILON },
    });
    return { normed, sum };
  }

  #normTensors(tensor: string): string[] {
    const { hiddenSize } = this.#shape;
    return ['weight', 'bias'].map((part) => this.#nodes.tensor(`${tensor}.${part}`, [hiddenSize]));
  }

  #reshape(name: string, value: string, dims: readonly number[]): string {
    const shape = BigInt64Array.from(dims, BigInt);
    const to = this.#graph.initializer(`${name}/shape`, 'int64', [dims.length], shape);
    return this.#graph.node(name, 'Reshape', [value, to]);
  }
}

function layerOf(layer: number): string {
  return `${ENCODER}.layers.${layer}`;
}
