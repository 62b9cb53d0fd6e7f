import { GraphBuilder } from '../../onnx/graph-builder.ts';
import { type VocabularyMatrix, vocabularyMatrix } from '../graph/vocabulary-matrix.ts';
import { EncoderAttention } from './encoder-attention.ts';
import { EncoderOps } from './encoder-ops.ts';
import { emitLayers } from './encoder-layers.ts';
import { type EncoderConfig, normOutputs } from './encoder-shape.ts';
import { emitLabels, emitProjection, emitWords } from './output-heads.ts';
import { emitHead, emitVectors, type SentenceHead } from './sentence-head.ts';
import type { EncoderVariant } from './write-encoder.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { weightFormats } from '../quantize/weight-format.ts';

export interface EncoderGraphOptions extends EncoderVariant {
  readonly config: EncoderConfig;
  readonly weights: WeightSource;
  /** Makes a vector of the tokens' vectors, in an embedding model; not used by others. */
  readonly head: SentenceHead;
}

/** Output with the vectors of tokens. */
export const TOKEN_VECTORS = 'table';

/**
 * Describes an encoder as an ONNX graph. All tokens of a batch stand one after the other, so that
 * nothing but attention works on padding.
 *
 * Inputs: `input_ids`, `token_type_ids` and `position_ids` int64 [tokens]; `lengths` int32 [batch];
 * `padded` int64 [batch, seq], the token at each place of the batch as a table, any token where there
 * is padding; `packed` int64 [tokens], the place of each token in that table, read row by row; and
 * `attention_mask` int64 [batch, seq].
 * Output: `embedding` float [batch, dim] and, where it is pooled, `table` float [batch, seq, width]; of a
 * classifier `logits` float [batch, labels]; of a sparse encoder `weights` float [batch, vocab]; of late interaction,
 * whose head pools nothing, `table` alone.
 */
export async function buildEncoderGraph(options: EncoderGraphOptions): Promise<GraphBuilder> {
  return new EncoderEmitter(options).emit();
}

class EncoderEmitter {
  readonly #graph = new GraphBuilder('encoder');
  readonly #options: EncoderGraphOptions;
  readonly #config: EncoderConfig;
  readonly #ops: EncoderOps;
  readonly #attention: EncoderAttention;
  readonly #words: VocabularyMatrix;

  constructor(options: EncoderGraphOptions) {
    const { config, weights } = options;
    this.#options = options;
    this.#config = config;
    this.#ops = new EncoderOps(this.#graph, config, options);
    this.#attention = new EncoderAttention(this.#ops, config);
    const { vocabSize, hiddenSize, names } = config;
    const { embedding } = weightFormats(options.precision, 'float');
    const shape = [vocabSize, hiddenSize] as const;
    this.#words = vocabularyMatrix(this.#graph, weights, names.words, shape, embedding);
  }

  async emit(): Promise<GraphBuilder> {
    const graph = this.#graph;
    const { hiddenSize, head, names } = this.#config;
    for (const name of ['input_ids', 'token_type_ids', 'position_ids', 'packed']) {
      graph.input(name, 'int64', ['tokens']);
    }
    graph.input('lengths', 'int32', ['batch']);
    graph.input('padded', 'int64', ['batch', 'seq']);
    const mask = graph.input('attention_mask', 'int64', ['batch', 'seq']);

    let hidden = this.#embed();
    hidden = emitLayers(this.#ops, this.#config, hidden, (...of) => this.#attention.attend(...of));
    if (names.finalNorm !== null) hidden = this.#ops.norm(names.finalNorm, hidden);
    if (head === null && this.#options.head.pooling.length === 0) {
      const { outFeatures: width = hiddenSize } = this.#options.head.dense.at(-1) ?? {};
      const vectors = await emitVectors(graph, 'token/vectors', this.#options.head, hidden);
      graph.node(TOKEN_VECTORS, 'Gather', [vectors, 'padded']);
      graph.output(TOKEN_VECTORS, 'float', ['batch', 'seq', width]);
    } else if (head === null) {
      const table = graph.node(TOKEN_VECTORS, 'Gather', [hidden, 'padded']);
      graph.output(TOKEN_VECTORS, 'float', ['batch', 'seq', hiddenSize]);
      await emitHead(graph, this.#options.head, { hidden: table, mask, width: hiddenSize });
    } else if (head.type === 'labels') {
      emitLabels(this.#ops, head, { hidden, mask });
    } else if (head.type === 'projection') {
      emitProjection(this.#ops, head, hidden);
    } else {
      emitWords(this.#ops, head, { hidden, mask }, this.#words, this.#config.vocabSize);
    }
    const shown = this.#options.showsNorms ? normOutputs(this.#config) : [];
    for (const norm of shown) graph.output(norm, 'float', ['tokens', hiddenSize]);
    return graph;
  }

  #embed(): string {
    const graph = this.#graph;
    const { numPositions, numTypes, embeddingScale, names } = this.#config;
    let sum = this.#words.embed('input_ids');
    if (embeddingScale !== 1) {
      const scale = this.#ops.float('embeddings/scale', embeddingScale);
      sum = graph.node('embeddings/Scaled', 'Mul', [sum, scale]);
    }
    const tables = [
      [names.positions, numPositions, 'position_ids'],
      [names.types, numTypes, 'token_type_ids'],
    ] as const;
    const added = tables.flatMap(([tensor, rows, ids]) => {
      return tensor === null ? [] : [this.#lookUp(`${tensor}.weight`, rows, ids)];
    });
    const last = added.pop() ?? null;
    for (const part of added) sum = this.#ops.add(sum, part);
    if (names.embeddingNorm === null) return this.#ops.add(sum, last);
    return this.#ops.norm(names.embeddingNorm, sum, last);
  }

  #lookUp(name: string, rows: number, ids: string): string {
    const table = this.#ops.tensor(name, [rows, this.#config.hiddenSize]);
    return this.#graph.node(`${name}/Gather`, 'Gather', [table, ids]);
  }
}
