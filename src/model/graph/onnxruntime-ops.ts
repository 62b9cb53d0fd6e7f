import { MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { cast } from '../quantize/float-matrix.ts';
import { emitRowMatmul } from '../quantize/row-matrix.ts';
import {
  type BlockFormat,
  type FloatFormat,
  type WeightFormats,
  weightFormats,
} from '../quantize/weight-format.ts';
import { emitGated } from './activation.ts';
import type { DecoderObserver } from './decoder-observer.ts';
import { DecoderOps } from './decoder-ops.ts';
import type { Addition, Normalized, NormalizedSum, ResidualSum } from './decoder-values.ts';
import { emitLinear, type LinearInput, type LinearLayer } from './linear.ts';
import { LiveAdapters } from './live-adapters.ts';
import type { NumberFormats } from './number-formats.ts';
import { lmHeadSource } from './vocabulary-sources.ts';
import { vocabularyMatrix, type VocabularyMatrix } from './vocabulary-matrix.ts';

/** A decoder of ONNX Runtime's operators: norms are nodes, and add what the layer before them gave. */
export class OnnxRuntimeOps extends DecoderOps {
  readonly #formats: WeightFormats;
  readonly #steps: ReadonlyMap<string, number>;
  readonly #adapters: LiveAdapters | null;
  #embedding: VocabularyMatrix | undefined;

  constructor(
    config: DecoderConfig,
    weights: WeightSource,
    { precision, activationDtype = 'float32', maxAdapterRank, steps = new Map() }: NumberFormats,
    observer: DecoderObserver | null = null,
  ) {
    super(config, weights, activationDtype === 'float16' ? 'float16' : 'float', observer);
    this.#formats = weightFormats(precision, this.type);
    this.#steps = steps;
    this.#adapters =
      maxAdapterRank === undefined ? null : new LiveAdapters(this.graph, maxAdapterRank);
  }

  override embed(tokenIds: string): string {
    const { embedding } = this.config.family.tensors;
    this.#embedding = this.#vocabularyMatrix(embedding, this.#formats.embedding);
    return this.#embedding.embed(tokenIds);
  }

  override rowsOf(...[tensor, shape, tokenIds, prefix]: Parameters<DecoderOps['rowsOf']>): string {
    const { embedding } = this.#formats;
    const table = vocabularyMatrix(this.graph, this.weights, tensor, shape, embedding);
    return table.embed(tokenIds, prefix);
  }

  override norm(tensor: string | null, { sum, added }: ResidualSum, scale = 1): NormalizedSum {
    const { graph } = this;
    const { family, hiddenSize, rmsNormEps } = this.config;
    if (added === undefined) {
      const value = tensor === null ? sum : this.norms.plain(tensor, sum, scale);
      return { value, sum: { sum } };
    }
    if (tensor === null || family.norms !== 'rms') {
      const all = graph.node(`${tensor ?? added}/Sum`, 'Add', [sum, added]);
      return this.norm(tensor, { sum: all }, scale);
    }
    const weight = this.norms.weight(tensor, hiddenSize, scale);
    const all = `${tensor}/Sum`;
    const value = graph.node(
      `${tensor}/Norm`,
      'SkipSimplifiedLayerNormalization',
      [sum, added, weight],
      {
        domain: MICROSOFT_DOMAIN,
        outputs: [`${tensor}/Norm`, '', '', all],
        attributes: { epsilon: rmsNormEps },
      },
    );
    return { value, sum: { sum: all } };
  }

  override plain({ value }: Normalized): string {
    return value;
  }

  override linear(layer: LinearLayer, input: LinearInput): string {
    const { linear } = this.#formats;
    const format =
      linear.kind === 'rows' ? { ...linear, step: this.#steps.get(layer.name) } : linear;
    this.observer?.linear(layer.name, input.value);
    const output = emitLinear(this.graph, this.weights, layer, input, format, this.quantizer);
    return this.#adapters?.add(output, layer, input) ?? output;
  }

  override gated(layer: LinearLayer, input: LinearInput, prefix: string): string {
    return emitGated(this.graph, prefix, this.linear(layer, input), this.config.activation);
  }

  override add(value: string, { to, norm, prefix, pick }: Addition): ResidualSum {
    const normalized = norm === null ? value : this.norms.plain(norm, value);
    const added =
      to.added === undefined
        ? normalized
        : this.graph.node(`${prefix}/Parallel`, 'Add', [to.added, normalized]);
    return { sum: pick?.(to.sum) ?? to.sum, added };
  }

  override addLinear(
    layer: LinearLayer,
    { value, rowsLike }: LinearInput,
    addition: Addition,
  ): ResidualSum {
    const input = { value: addition.pick?.(value) ?? value, rowsLike };
    return this.add(this.linear(layer, input), addition);
  }

  override project(output: string, { value: hidden }: Normalized): void {
    const { tieWordEmbeddings, family } = this.config;
    const tensor = tieWordEmbeddings ? family.tensors.embedding : family.tensors.lmHead;
    const format = this.#formats.lmHead;
    if (format.kind === 'rows') {
      emitRowMatmul(
        this.graph,
        this.weights,
        lmHeadSource(this.config),
        { output, input: hidden, rowsLike: 'logits_index' },
        this.quantizer,
      );
      return;
    }
    const tied = tieWordEmbeddings ? this.#embedding : undefined;
    const matrix = tied ?? this.#vocabularyMatrix(tensor, format);
    matrix.project(hidden, this.type === 'float' ? output : 'lm_head/Half');
    if (this.type !== 'float') cast(this.graph, output, 'lm_head/Half', 'float');
  }

  override declareLogits(declareHidden: () => void): void {
    this.graph.output('logits', 'float', ['wanted', this.config.vocabSize]);
    declareHidden();
  }

  override expert(input: LinearInput, layer: LinearLayer): string {
    const { linear } = this.#formats;
    return emitLinear(this.graph, this.weights, layer, input, linear, this.quantizer);
  }

  #vocabularyMatrix(tensor: string, format: FloatFormat | BlockFormat): VocabularyMatrix {
    const { vocabSize, hiddenSize } = this.config;
    const shape = [vocabSize, hiddenSize] as const;
    return vocabularyMatrix(this.graph, this.weights, tensor, shape, format);
  }
}
