import { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { RowQuantizer } from '../quantize/row-quantizer.ts';
import type { FloatType } from '../quantize/weight-format.ts';
import type { DecoderObserver } from './decoder-observer.ts';
import type {
  Addition,
  Normalized,
  NormalizedInput,
  NormalizedSum,
  ResidualSum,
} from './decoder-values.ts';
import { DecoderNorms } from './decoder-norms.ts';
import type { ExpertEmitters } from './experts.ts';
import { emitLinear, type LinearInput, type LinearLayer } from './linear.ts';
import { inRotaryOrder } from './rotary-order.ts';

/**
 * The operators that `decoderGraph` makes a decoder of, and the graph that they are added to. Kernels
 * differ in what one node computes, and a decoder in nothing else.
 */
export abstract class DecoderOps implements ExpertEmitters {
  readonly graph = new GraphBuilder('decoder');
  readonly config: DecoderConfig;
  readonly weights: WeightSource;
  readonly type: FloatType;
  readonly norms: DecoderNorms;
  readonly observer: DecoderObserver | null;
  protected readonly quantizer = new RowQuantizer(this.graph);

  /** @param type of activations */
  constructor(
    config: DecoderConfig,
    weights: WeightSource,
    type: FloatType,
    observer: DecoderObserver | null = null,
  ) {
    this.config = config;
    this.weights = inRotaryOrder(config, weights);
    this.type = type;
    this.norms = new DecoderNorms(this.graph, config, this.weights, type);
    this.observer = observer;
  }

  /** Embeddings [tokens, hidden] of int32 or int64 [tokens]. */
  abstract embed(tokenIds: string): string;

  /**
   * Rows of another table than the embedding, of int32 or int64 [tokens].
   * @param prefix of the result's name
   */
  abstract rowsOf(
    tensor: string,
    shape: readonly [rows: number, columns: number],
    tokenIds: string,
    prefix: string,
  ): string;

  /**
   * Normalizes the sum; as it is without a norm.
   * @param scale what the result is multiplied by
   */
  abstract norm(tensor: string | null, sum: ResidualSum, scale?: number): NormalizedSum;

  /** Applies the norm that is left. @param name of the result, where one is */
  abstract plain(input: Normalized, name: string): string;

  abstract linear(layer: LinearLayer, input: NormalizedInput): string;

  /** A linear layer of gates and ups, and the activation: [rows, 2 n] become [rows, n]. */
  abstract gated(layer: LinearLayer, input: NormalizedInput, prefix: string): string;

  abstract add(value: string, addition: Addition): ResidualSum;

  /** A linear layer whose output is added. */
  abstract addLinear(layer: LinearLayer, input: LinearInput, addition: Addition): ResidualSum;

  /** The LM head. @param output its name */
  abstract project(output: string, hidden: Normalized): void;

  /**
   * Declares the outputs that `project` made.
   * @param declareHidden adds the output of hidden states
   */
  abstract declareLogits(declareHidden: () => void): void;

  /** Adds an expert's linear layer; adapters do not change it. */
  abstract expert(input: LinearInput, layer: LinearLayer): string;

  router(input: LinearInput, layer: LinearLayer): string {
    const floats = { kind: 'float', type: this.type, activations: this.type } as const;
    return emitLinear(this.graph, this.weights, layer, input, floats, this.quantizer);
  }
}
