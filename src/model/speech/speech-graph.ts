import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { emitLayers } from '../encoder/encoder-layers.ts';
import { EncoderNodes, type EncoderNumbers } from '../encoder/encoder-nodes.ts';
import { EncoderOps } from '../encoder/encoder-ops.ts';
import type { LayersConfig } from '../encoder/encoder-shape.ts';
import { emitActivation } from '../graph/activation.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import type { SpeechShape } from './speech-config.ts';

export interface SpeechGraphOptions {
  readonly shape: SpeechShape;
  /** Named as in safetensors. */
  readonly weights: WeightSource;
}

const ENCODER = 'model.encoder';
const LAYER = `${ENCODER}.layers.*`;
const ATTENTION = `${LAYER}.self_attn`;
/** Frames that a convolution reads, and those before the first. */
const KERNEL = 3;
const PADDING = 1;
/** A value with as many elements as the graph has positions. */
const ROWS = 'rows';

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
  readonly #shape: SpeechShape;
  readonly #layers: LayersConfig;
  readonly #ops: EncoderOps;
  readonly #nodes: EncoderNodes;

  constructor({ shape, weights }: SpeechGraphOptions) {
    const numbers: EncoderNumbers = { weights, precision: 'fp32' };
    this.#shape = shape;
    this.#layers = layersOf(shape);
    this.#ops = new EncoderOps(this.#graph, this.#layers, numbers, ROWS);
    this.#nodes = new EncoderNodes(this.#graph, numbers);
  }

  emit(): GraphBuilder {
    const graph = this.#graph;
    const { numMels, numFrames, numPositions, numHeads, hiddenSize } = this.#shape;
    graph.input('features', 'float', ['windows', numMels, numFrames]);
    const placed = this.#embed();
    graph.node(ROWS, 'Gather', [placed, this.#ops.int64('first', 0)], { attributes: { axis: 1n } });
    const hidden = emitLayers(this.#ops, this.#layers, placed, (name, fused) => {
      const table = this.#reshape(`${name}/Table`, fused, -1, numPositions, 3 * hiddenSize);
      const attended = this.#nodes.attend(name, table, numHeads);
      return this.#reshape(`${name}/Rows`, attended, -1, hiddenSize);
    });
    const normed = this.#ops.norm(`${ENCODER}.layer_norm`, hidden);
    this.#reshape('embeddings', normed, -1, numPositions, hiddenSize);
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
    const places = this.#ops.tensor(table, [numPositions, hiddenSize]);
    const placed = graph.node('positions/Placed', 'Add', [inRows, places]);
    return this.#reshape('positions', placed, -1, hiddenSize);
  }

  #convolve(part: string, value: string, channels: number, stride: number): string {
    const { hiddenSize } = this.#shape;
    const name = `${ENCODER}.${part}`;
    const kernel = this.#ops.tensor(`${name}.weight`, [hiddenSize, channels, KERNEL]);
    const bias = this.#ops.tensor(`${name}.bias`, [hiddenSize]);
    const made = this.#graph.node(name, 'Conv', [value, kernel, bias], {
      attributes: {
        kernel_shape: [BigInt(KERNEL)],
        pads: [BigInt(PADDING), BigInt(PADDING)],
        strides: [BigInt(stride)],
      },
    });
    return emitActivation(this.#graph, made, 'gelu');
  }

  #reshape(name: string, value: string, ...dims: readonly number[]): string {
    return this.#graph.node(name, 'Reshape', [value, this.#ops.int64s(`${name}/shape`, ...dims)]);
  }
}

function layersOf(shape: SpeechShape): LayersConfig {
  const { hiddenSize, intermediateSize, numHeads, numLayers, activation } = shape;
  return {
    hiddenSize,
    intermediateSize,
    numHeads,
    numKvHeads: numHeads,
    headDim: hiddenSize / numHeads,
    norm: { kind: 'layer', epsilon: 1e-5, hasBias: true },
    activation,
    gates: null,
    layers: Array.from({ length: numLayers }, () => ({ window: null, rope: null })),
    startsPlain: false,
    biases: { queryKeyValue: true, attentionOutput: true, up: true, down: true },
    names: {
      embeddingNorm: null,
      layer: {
        beforeAttention: `${LAYER}.self_attn_layer_norm`,
        queryKeyValue: ['q_proj', 'k_proj', 'v_proj'].map((part) => `${ATTENTION}.${part}`),
        headNorms: null,
        attentionOutput: `${ATTENTION}.out_proj`,
        onAttention: null,
        afterAttention: null,
        beforeMlp: `${LAYER}.final_layer_norm`,
        up: [`${LAYER}.fc1`],
        down: `${LAYER}.fc2`,
        onMlp: null,
        afterMlp: null,
      },
    },
  };
}
