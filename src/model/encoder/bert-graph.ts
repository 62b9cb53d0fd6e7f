import { GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { emitLinear, type LinearLayer } from '../graph/linear.ts';
import { vocabularyMatrix } from '../graph/vocabulary-matrix.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import { RowQuantizer } from '../quantize/row-quantizer.ts';
import { type FloatFormat, type WeightFormats, weightFormats } from '../quantize/weight-format.ts';
import type { BertConfig } from './encoder-config.ts';
import { type ChannelReaches, Smoothing } from './smoothing.ts';
import { emitHead, type SentenceHead } from './sentence-head.ts';

/** How an encoder's weights are stored; int8 is multiplied with activations of 8 bits. */
export type EncoderPrecision = 'fp32' | 'int8';

export interface BertGraphOptions {
  readonly config: BertConfig;
  /** Named as in a checkpoint without a head, such as `encoder.layer.0.output.dense.weight`. */
  readonly weights: WeightSource;
  readonly precision: EncoderPrecision;
  /** Makes a vector of the tokens' vectors, in an embedding model; not used by classifiers. */
  readonly head: SentenceHead;
  /** For int8, see normOutputs. */
  readonly reaches?: ChannelReaches;
  /** Whether the outputs of normalizations are outputs of the graph, too. */
  readonly showsNorms?: boolean;
}

/** The normalizations before linear layers, each by the names of its tensors and its output. */
export function normOutputs({ numLayers }: BertConfig): string[] {
  const layers = Array.from({ length: numLayers }, (_, layer) => `encoder.layer.${layer}`);
  return layers.flatMap((prefix, layer) => [
    layer === 0 ? 'embeddings.LayerNorm' : `encoder.layer.${layer - 1}.output.LayerNorm`,
    `${prefix}.attention.output.LayerNorm`,
  ]);
}

/** Output with the vectors of tokens. */
export const TOKEN_VECTORS = 'table';

const FLOAT: FloatFormat = { kind: 'float', type: 'float', activations: 'float' };

/**
 * Describes a BERT or RoBERTa encoder as an ONNX graph. All tokens of a batch stand one after the
 * other, so that nothing but attention works on padding.
 *
 * Inputs: `input_ids`, `token_type_ids` and `position_ids` int64 [tokens]; `lengths` int32 [batch];
 * `padded` int64 [batch, seq], the token at each place of the batch as a table, any token where there
 * is padding; `packed` int64 [tokens], the place of each token in that table, read row by row; and
 * `attention_mask` int64 [batch, seq].
 * Output: `embedding` float [batch, dim] and, before the head, `table` float [batch, seq, width]; of a
 * classifier, `logits` float [batch, labels].
 */
export async function buildBertGraph(options: BertGraphOptions): Promise<GraphBuilder> {
  return new BertEmitter(options).emit();
}

class BertEmitter {
  readonly #graph = new GraphBuilder('encoder');
  readonly #quantizer = new RowQuantizer(this.#graph);
  readonly #options: BertGraphOptions;
  readonly #config: BertConfig;
  readonly #formats: WeightFormats;

  constructor(options: BertGraphOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#formats = weightFormats(options.precision, 'float');
  }

  async emit(): Promise<GraphBuilder> {
    const graph = this.#graph;
    const { numLayers, hiddenSize, head, numLabels } = this.#config;
    for (const name of ['input_ids', 'token_type_ids', 'position_ids', 'packed']) {
      graph.input(name, 'int64', ['tokens']);
    }
    graph.input('lengths', 'int32', ['batch']);
    graph.input('padded', 'int64', ['batch', 'seq']);
    const mask = graph.input('attention_mask', 'int64', ['batch', 'seq']);
    const flat = [-1n, BigInt(hiddenSize)];
    graph.initializer('flat', 'int64', [2], BigInt64Array.from(flat));

    let hidden = this.#embed();
    for (let layer = 0; layer < numLayers; layer++) hidden = this.#layer(layer, hidden);
    if (head === null) {
      const table = graph.node(TOKEN_VECTORS, 'Gather', [hidden, 'padded']);
      graph.output(TOKEN_VECTORS, 'float', ['batch', 'seq', hiddenSize]);
      await emitHead(graph, this.#options.head, { hidden: table, mask, width: hiddenSize });
    } else {
      graph.node('logits', 'Identity', [this.#classify(hidden, head)]);
      graph.output('logits', 'float', ['batch', numLabels]);
    }
    const shown = this.#options.showsNorms ? normOutputs(this.#config) : [];
    for (const norm of shown) graph.output(norm, 'float', ['tokens', hiddenSize]);
    return graph;
  }

  #embed(): string {
    const graph = this.#graph;
    const { vocabSize, hiddenSize, numPositions, numTypes } = this.#config;
    const words = vocabularyMatrix(
      graph,
      this.#options.weights,
      'embeddings.word_embeddings',
      [vocabSize, hiddenSize],
      this.#formats.embedding,
    ).embed('input_ids');
    const positions = this.#lookUp('position', numPositions, 'position_ids');
    const types = this.#lookUp('token_type', numTypes, 'token_type_ids');
    const placed = graph.node('embeddings/Placed', 'Add', [words, positions]);
    return this.#normalizeSum('embeddings.LayerNorm', placed, types);
  }

  #lookUp(what: string, rows: number, ids: string): string {
    const name = `embeddings.${what}_embeddings.weight`;
    const table = this.#tensor(name, [rows, this.#config.hiddenSize]);
    return this.#graph.node(`${name}/Gather`, 'Gather', [table, ids]);
  }

  #layer(layer: number, hidden: string): string {
    const { hiddenSize, intermediateSize } = this.#config;
    const prefix = `encoder.layer.${layer}`;
    const attended = this.#attend(prefix, hidden);
    const projected = this.#linear(attended, {
      name: `${prefix}.attention.output`,
      inFeatures: hiddenSize,
      parts: [{ tensor: `${prefix}.attention.output.dense`, outFeatures: hiddenSize }],
      bias: true,
    });
    const between = this.#normalizeSum(`${prefix}.attention.output.LayerNorm`, projected, hidden);
    const wide = this.#normalizedLinear(between, {
      name: `${prefix}.intermediate`,
      inFeatures: hiddenSize,
      parts: [{ tensor: `${prefix}.intermediate.dense`, outFeatures: intermediateSize }],
      bias: true,
    });
    const narrow = this.#linear(this.#activate(wide), {
      name: `${prefix}.output`,
      inFeatures: intermediateSize,
      parts: [{ tensor: `${prefix}.output.dense`, outFeatures: hiddenSize }],
      bias: true,
    });
    return this.#normalizeSum(`${prefix}.output.LayerNorm`, narrow, between);
  }

  #attend(prefix: string, hidden: string): string {
    const graph = this.#graph;
    const { hiddenSize, numHeads } = this.#config;
    const name = `${prefix}/attention`;
    const fused = this.#normalizedLinear(hidden, {
      name: `${prefix}.attention.qkv`,
      inFeatures: hiddenSize,
      parts: ['query', 'key', 'value'].map((part) => ({
        tensor: `${prefix}.attention.self.${part}`,
        outFeatures: hiddenSize,
      })),
      bias: true,
    });
    const table = graph.node(`${name}/Table`, 'Gather', [fused, 'padded']);
    const parts = ['query', 'key', 'value'].map((part) => `${name}/${part}`);
    graph.node(`${name}/Split`, 'Split', [table], {
      outputs: parts,
      attributes: { axis: -1n, num_outputs: 3n },
    });
    const attended = graph.node(name, 'MultiHeadAttention', [...parts, '', 'lengths'], {
      domain: MICROSOFT_DOMAIN,
      attributes: { num_heads: BigInt(numHeads) },
    });
    const rows = graph.node(`${name}/Rows`, 'Reshape', [attended, 'flat']);
    return graph.node(`${name}/Packed`, 'Gather', [rows, 'packed']);
  }

  /** The score of each text, from its first token. */
  #classify(hidden: string, head: 'bert' | 'roberta'): string {
    const graph = this.#graph;
    const { hiddenSize, numLabels } = this.#config;
    const first = graph.initializer('classifier/first', 'int64', [], BigInt64Array.of(0n));
    const at = graph.node('classifier/At', 'Gather', ['padded', first], {
      attributes: { axis: 1n },
    });
    const token = graph.node('classifier/Token', 'Gather', [hidden, at]);
    const [inner, outer] =
      head === 'bert'
        ? ['pooler.dense', 'classifier']
        : ['classifier.dense', 'classifier.out_proj'];
    const dense = (value: string, tensor: string, outFeatures: number) =>
      this.#linear(
        value,
        { name: tensor, inFeatures: hiddenSize, parts: [{ tensor, outFeatures }], bias: true },
        { format: FLOAT },
      );
    const pooled = graph.node('classifier/Tanh', 'Tanh', [dense(token, inner, hiddenSize)]);
    return dense(pooled, outer, numLabels);
  }

  #activate(value: string): string {
    const { activation } = this.#config;
    const name = `${value}/Activation`;
    if (activation === 'relu') return this.#graph.node(name, 'Relu', [value]);
    const attributes = { approximate: activation === 'gelu' ? 'none' : 'tanh' };
    return this.#graph.node(name, 'Gelu', [value], { attributes });
  }

  /** A normalization of a sum; its output has the name of its tensors. */
  #normalizeSum(tensor: string, value: string, residual: string): string {
    const { hiddenSize, layerNormEps: epsilon } = this.#config;
    const weight = this.#tensor(`${tensor}.weight`, [hiddenSize]);
    const bias = this.#tensor(`${tensor}.bias`, [hiddenSize]);
    const inputs = [value, residual, weight, bias];
    return this.#graph.node(tensor, 'SkipLayerNormalization', inputs, {
      domain: MICROSOFT_DOMAIN,
      attributes: { epsilon },
    });
  }

  #tensor(name: string, shape: readonly number[]): string {
    const { weights } = this.#options;
    return floatInitializer(this.#graph, name, shape, 'float', () => weights.get(name, shape));
  }

  /** A linear layer of what a normalization makes. */
  #normalizedLinear(norm: string, layer: LinearLayer): string {
    const { reaches, weights } = this.#options;
    const reach = reaches?.get(norm);
    if (reach === undefined) return this.#linear(norm, layer);
    const smoothing = new Smoothing(weights, reach, layer);
    const shape = [layer.inFeatures];
    const load = () => smoothing.inputFactors();
    const factors = floatInitializer(this.#graph, `${layer.name}.smoothing`, shape, 'float', load);
    const even = this.#graph.node(`${layer.name}/Smoothed`, 'Mul', [norm, factors]);
    return this.#linear(even, layer, { weights: smoothing.weights });
  }

  #linear(
    value: string,
    layer: LinearLayer,
    { format = this.#formats.linear, weights = this.#options.weights } = {},
  ): string {
    const input = { value, rowsLike: 'input_ids' };
    return emitLinear(this.#graph, weights, layer, input, format, this.#quantizer);
  }
}
