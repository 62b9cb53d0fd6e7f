/**
 * Which positions of a window the tokens of its text attend to, as Transformers has it for the times of words:
 * the decoder once more, without its logits, up to the last layer that tells.
 */
import { GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { EncoderOps } from '../encoder/encoder-ops.ts';
import { emitActivation } from '../graph/activation.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import type { AlignmentShape } from './alignment-config.ts';
import { emitMedian } from './median.ts';

export interface AlignmentGraphOptions {
  readonly shape: AlignmentShape;
  /** Named as in safetensors. */
  readonly weights: WeightSource;
}

const DECODER = 'model.decoder';
/** A value with as many elements as the text has tokens, and one with as many as the window has positions. */
const TOKENS = 'tokens';
const HEARD = 'heard';
/** Smaller ones have squares that float32 does not have. */
const LEAST_DEVIATION = 1e-19;

/**
 * Describes the graph. Inputs: `tokens` int64 [tokens], the prompt and the text; `embeddings` float
 * [positions, hidden], of the window; `span` int64 [2]: the first token that counts, and how many of the first
 * positions do, 4 at least. Output: `attention` float [those tokens, those positions], which is higher where a
 * token was said: normalized over the tokens, smoothed over the positions, the mean of the heads.
 */
export function buildAlignmentGraph(options: AlignmentGraphOptions): GraphBuilder {
  return new AlignmentEmitter(options).emit();
}

class AlignmentEmitter {
  readonly #graph = new GraphBuilder('alignment');
  readonly #shape: AlignmentShape;
  readonly #ops: EncoderOps;
  /** The same for matrices of the window's rows. */
  readonly #heardOps: EncoderOps;

  constructor({ shape, weights }: AlignmentGraphOptions) {
    const config = {
      hiddenSize: shape.hiddenSize,
      norm: { kind: 'layer', epsilon: 1e-5, hasBias: true },
    } as const;
    const numbers = { weights, precision: 'fp32' } as const;
    this.#shape = shape;
    this.#ops = new EncoderOps(this.#graph, config, numbers, TOKENS);
    this.#heardOps = new EncoderOps(this.#graph, config, numbers, HEARD);
  }

  emit(): GraphBuilder {
    const graph = this.#graph;
    const { hiddenSize, numPositions, heads } = this.#shape;
    graph.input(TOKENS, 'int64', ['tokens']);
    graph.input('embeddings', 'float', [numPositions, hiddenSize]);
    graph.input('span', 'int64', [2]);
    const zero = this.#ops.int64('zero', 0);
    graph.node(HEARD, 'Gather', ['embeddings', zero], { attributes: { axis: 1n } });
    let sum = this.#embed();
    const found: string[] = [];
    for (const [layer, listening] of heads.entries()) {
      const isLast = layer === heads.length - 1;
      const made = this.#layer(layer, sum, listening, isLast);
      found.push(...made.weights);
      ({ sum } = made);
    }
    const all = found.length === 1 ? (found[0] ?? '') : this.#concat('heads', found, 0);
    this.#smooth(all);
    graph.output('attention', 'float', ['counted tokens', 'counted positions']);
    return graph;
  }

  #embed(): string {
    const graph = this.#graph;
    const { vocabSize, hiddenSize, maxTokens } = this.#shape;
    const words = this.#ops.tensor(`${DECODER}.embed_tokens.weight`, [vocabSize, hiddenSize]);
    const places = this.#ops.tensor(`${DECODER}.embed_positions.weight`, [maxTokens, hiddenSize]);
    const said = graph.node('words', 'Gather', [words, TOKENS]);
    const length = graph.node('length', 'Shape', [TOKENS]);
    const start = this.#ops.int64s('start', 0);
    const placed = graph.node('places', 'Slice', [places, start, length, start]);
    return this.#ops.add(said, placed);
  }

  #layer(
    layer: number,
    before: string,
    listening: readonly number[],
    isLast: boolean,
  ): { readonly weights: readonly string[]; readonly sum: string } {
    const ops = this.#ops;
    const name = `${DECODER}.layers.${layer}`;
    const own = ops.norm(`${name}.self_attn_layer_norm`, before);
    const [query, key, value] = ['q', 'k', 'v'].map((part) =>
      this.#linear(ops, own, `${name}.self_attn.${part}_proj`),
    );
    const told = this.#attend(`${name}.self_attn`, [query, key, value], true);
    const spoken = ops.add(this.#linear(ops, told, `${name}.self_attn.out_proj`), before);
    const cross = `${name}.encoder_attn`;
    const asked = this.#linear(ops, ops.norm(`${cross}_layer_norm`, spoken), `${cross}.q_proj`);
    const keys = this.#linear(this.#heardOps, 'embeddings', `${cross}.k_proj`);
    const weights = listening.length === 0 ? [] : [this.#weights(cross, asked, keys, listening)];
    if (isLast) return { weights, sum: spoken };
    const values = this.#linear(this.#heardOps, 'embeddings', `${cross}.v_proj`);
    const heard = this.#attend(cross, [asked, keys, values], false);
    const between = ops.add(this.#linear(ops, heard, `${cross}.out_proj`), spoken);
    return { weights, sum: this.#mlp(name, between) };
  }

  #mlp(name: string, before: string): string {
    const { hiddenSize, intermediateSize, activation } = this.#shape;
    const normed = this.#ops.norm(`${name}.final_layer_norm`, before);
    const wide = this.#linear(this.#ops, normed, `${name}.fc1`, hiddenSize, intermediateSize);
    const active = emitActivation(this.#graph, wide, activation);
    const narrow = this.#linear(this.#ops, active, `${name}.fc2`, intermediateSize, hiddenSize);
    return this.#ops.add(narrow, before);
  }

  #linear(
    ops: EncoderOps,
    value: string,
    tensor: string,
    inFeatures = this.#shape.hiddenSize,
    outFeatures = this.#shape.hiddenSize,
  ): string {
    const parts = [{ tensor, outFeatures }];
    return ops.linear(value, { name: tensor, inFeatures, parts, bias: true });
  }

  /** Attention of [tokens, hidden] to [rows, hidden]. */
  #attend(name: string, parts: readonly (string | undefined)[], isCausal: boolean): string {
    const graph = this.#graph;
    const { numHeads, hiddenSize } = this.#shape;
    const axis = this.#ops.int64s(`${name}/axis`, 0);
    const inputs = parts.map((part, at) =>
      graph.node(`${name}/${at}`, 'Unsqueeze', [part ?? '', axis]),
    );
    const made = graph.node(name, 'MultiHeadAttention', inputs, {
      domain: MICROSOFT_DOMAIN,
      attributes: {
        num_heads: BigInt(numHeads),
        ...(isCausal && { unidirectional: 1n }),
      },
    });
    const shape = this.#ops.int64s(`${name}/shape`, -1, hiddenSize);
    return graph.node(`${name}/Rows`, 'Reshape', [made, shape]);
  }

  /** Attention's weights of some heads, [heads, tokens, positions]. */
  #weights(name: string, query: string, key: string, heads: readonly number[]): string {
    const graph = this.#graph;
    const { numHeads, hiddenSize } = this.#shape;
    const headDim = hiddenSize / numHeads;
    const shape = this.#ops.int64s(`${name}/heads`, -1, numHeads, headDim);
    const which = this.#ops.int64s(`${name}/which`, ...heads);
    const apart = (part: string, value: string, ...perm: readonly bigint[]) => {
      const rows = graph.node(`${name}/${part}/Apart`, 'Reshape', [value, shape]);
      const own = graph.node(`${name}/${part}/Own`, 'Gather', [rows, which], {
        attributes: { axis: 1n },
      });
      return graph.node(`${name}/${part}/Turned`, 'Transpose', [own], { attributes: { perm } });
    };
    const asked = apart('query', query, 1n, 0n, 2n);
    const found = apart('key', key, 1n, 2n, 0n);
    const products = graph.node(`${name}/Products`, 'MatMul', [asked, found]);
    const scale = this.#ops.float(`${name}/scale`, 1 / Math.sqrt(headDim));
    const scores = graph.node(`${name}/Scores`, 'Mul', [products, scale]);
    return graph.node(`${name}/Weights`, 'Softmax', [scores], { attributes: { axis: -1n } });
  }

  /** From [heads, tokens, positions] to the output. */
  #smooth(weights: string): void {
    const graph = this.#graph;
    const ops = this.#ops;
    const [first, columns] = [this.#piece('first', 0), this.#piece('columns', 1)];
    const zeros = ops.int64s('zeros', 0);
    const starts = this.#concat('starts', [first, zeros], 0);
    const ends = this.#concat('ends', [ops.int64s('all', 2 ** 31), columns], 0);
    const axes = ops.int64s('axes', 1, 2);
    const counted = graph.node('counted', 'Slice', [weights, starts, ends, axes]);
    const overTokens = ops.int64s('overTokens', 1);
    const mean = graph.node('mean', 'ReduceMean', [counted, overTokens]);
    const far = graph.node('far', 'Sub', [counted, mean]);
    const squares = graph.node('squares', 'Mul', [far, far]);
    const variance = graph.node('variance', 'ReduceMean', [squares, overTokens]);
    const deviation = graph.node('deviation', 'Sqrt', [variance]);
    // Where no token attends to a position, all are equal.
    const floor = graph.node('floor', 'Max', [deviation, ops.float('least', LEAST_DEVIATION)]);
    const even = graph.node('even', 'Div', [far, floor]);
    const smooth = emitMedian(ops, even);
    graph.node('attention', 'ReduceMean', [smooth, ops.int64s('overHeads', 0)], {
      attributes: { keepdims: 0n },
    });
  }

  /** One number of `span`, [1]. */
  #piece(name: string, at: number): string {
    return this.#graph.node(name, 'Gather', ['span', this.#ops.int64s(`${name}/at`, at)]);
  }

  #concat(name: string, values: readonly string[], axis: number): string {
    return this.#graph.node(name, 'Concat', values, { attributes: { axis: BigInt(axis) } });
  }
}
