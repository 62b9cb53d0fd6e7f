import { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { ExpertConfig } from '../huggingface/expert-config.ts';
import { layerTensorNames } from '../huggingface/families.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { cast } from '../quantize/float-matrix.ts';
import { emitRowMatmul } from '../quantize/row-matrix.ts';
import { RowQuantizer } from '../quantize/row-quantizer.ts';
import {
  type BlockFormat,
  type FloatFormat,
  type FloatType,
  type WeightFormat,
  type WeightFormats,
  weightFormats,
} from '../quantize/weight-format.ts';
import { emitActivation, emitGated } from './activation.ts';
import { declareSinks } from './attention-sinks.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import type { DecoderObserver } from './decoder-observer.ts';
import {
  addPositions,
  capLogits,
  declareHidden,
  fusedParts,
  scaleEmbedding,
} from './decoder-parts.ts';
import { DecoderNorms, type HiddenState } from './decoder-norms.ts';
import { expertsOf } from './expert-layers.ts';
import { emitExperts } from './experts.ts';
import { normalizeHeads } from './head-norms.ts';
import { LiveAdapters } from './live-adapters.ts';
import { emitLinear, type LinearInput, type LinearLayer } from './linear.ts';
import { mlpLayers } from './mlp-layers.ts';
import type { NumberFormats } from './number-formats.ts';
import { inRotaryOrder } from './rotary-order.ts';
import { declareRotaryTables } from './rotary-tables.ts';
import { vocabularyMatrix, type VocabularyMatrix } from './vocabulary-matrix.ts';

/** Adds attention to a graph with rotary tables, over values of a type. */
export type AddAttention = (graph: GraphBuilder, type: FloatType) => DecoderAttention;

/** Adds a decoder to a graph: its layers, in order, between the embedding and the LM head. */
export class DecoderEmitter {
  readonly #graph = new GraphBuilder('decoder');
  readonly #quantizer = new RowQuantizer(this.#graph);
  readonly #config: DecoderConfig;
  readonly #weights: WeightSource;
  readonly #formats: WeightFormats;
  readonly #steps: ReadonlyMap<string, number>;
  readonly #norms: DecoderNorms;
  readonly #activations: FloatType;
  readonly #addAttention: AddAttention;
  readonly #adapters: LiveAdapters | null;
  readonly #observer: DecoderObserver | null;

  constructor(
    config: DecoderConfig,
    weights: WeightSource,
    { precision, activationDtype = 'float32', maxAdapterRank, steps = new Map() }: NumberFormats,
    addAttention: AddAttention,
    observer: DecoderObserver | null = null,
  ) {
    this.#config = config;
    this.#weights = inRotaryOrder(config, weights);
    this.#activations = activationDtype === 'float16' ? 'float16' : 'float';
    this.#formats = weightFormats(precision, this.#activations);
    this.#steps = steps;
    this.#norms = new DecoderNorms(this.#graph, config, this.#weights, this.#activations);
    this.#addAttention = addAttention;
    this.#adapters =
      maxAdapterRank === undefined ? null : new LiveAdapters(this.#graph, maxAdapterRank);
    this.#observer = observer;
  }

  emit(): GraphBuilder {
    const graph = this.#graph;
    const { numLayers, family, vocabSize, logitScale } = this.#config;
    graph.input('logits_index', 'int64', ['wanted']);
    declareRotaryTables(graph, this.#config, this.#activations);
    declareSinks(graph, this.#config, this.#weights, this.#activations);
    const attention = this.#addAttention(graph, this.#activations);

    const embedding = this.#vocabularyMatrix(family.tensors.embedding, this.#formats.embedding);
    const type = this.#activations;
    const scaled = scaleEmbedding(graph, this.#config, type, embedding.embed(attention.tokenIds));
    let hidden = addPositions(graph, this.#config, this.#weights, type, scaled, attention);
    let residual: string | undefined;
    for (let layer = 0; layer < numLayers; layer++) {
      this.#observer?.boundary(layer, hidden, residual);
      const names = layerTensorNames(this.#config.family, layer);
      const before = this.#norms.add(names.attentionNorm, hidden, residual);
      const last = layer === numLayers - 1;
      const attended = this.#pickWanted(this.#attention(layer, before, attention), last);
      const rowsLike = last ? 'logits_index' : attention.tokenIds;
      const projected = this.#attentionOutput(layer, { value: attended, rowsLike });
      const added = this.#outputNorm(names.attentionOutputNorm, projected);
      const after = this.#beforeMlp(names.mlpNorm, added, this.#pickWanted(before.residual, last));
      const transformed = this.#mlp(layer, { value: after.normalized, rowsLike });
      const output = this.#outputNorm(names.mlpOutputNorm, transformed);
      hidden = this.#config.parallelResidual
        ? graph.node(`layers.${layer}/Parallel`, 'Add', [added, output])
        : output;
      ({ residual } = after);
    }
    this.#observer?.boundary(numLayers, hidden, residual);
    // The projection is linear, so the logits' scale can be the norm's.
    const { normalized } = this.#norms.add(family.tensors.finalNorm, hidden, residual, logitScale);
    this.#project(normalized, embedding);
    graph.output('logits', 'float', ['wanted', vocabSize]);
    declareHidden(graph, this.#config, this.#activations, normalized);
    attention.declareOutputs();
    return graph;
  }

  #attention(layer: number, { normalized }: HiddenState, attention: DecoderAttention): string {
    const { numHeads, numKvHeads, headDim, hiddenSize, queryKeyValueBias } = this.#config;
    const { queryKeyValue, headNorms } = layerTensorNames(this.#config.family, layer);
    const sizes = [numHeads, numKvHeads, numKvHeads].map((count) => count * headDim);
    const qkv = this.#linear(
      { value: normalized, rowsLike: attention.tokenIds },
      {
        name: `layers.${layer}.attention.qkv`,
        inFeatures: hiddenSize,
        parts: fusedParts(queryKeyValue, sizes),
        bias: queryKeyValueBias,
      },
    );
    if (headNorms === null) return attention.attend(layer, qkv);
    const isShared = headNorms.over === 'head';
    const query = this.#norms.weight(headNorms.query, isShared ? headDim : numHeads * headDim);
    const key = this.#norms.weight(headNorms.key, isShared ? headDim : numKvHeads * headDim);
    const weights = { ...headNorms, query, key };
    return attention.attend(layer, normalizeHeads(this.#graph, this.#config, qkv, weights));
  }

  /** @param added by attention to `residual` */
  #beforeMlp(tensor: string | null, added: string, residual: string): HiddenState {
    if (!this.#config.parallelResidual) return this.#norms.add(tensor, added, residual);
    return { normalized: this.#norms.add(tensor, residual, undefined).normalized, residual };
  }

  #outputNorm(tensor: string | null, value: string): string {
    return tensor === null ? value : this.#norms.plain(tensor, value);
  }

  #attentionOutput(layer: number, attended: LinearInput): string {
    const { numHeads, headDim, hiddenSize, attentionOutputBias } = this.#config;
    return this.#linear(attended, {
      name: `layers.${layer}.attention.output`,
      inFeatures: numHeads * headDim,
      parts: [
        {
          tensor: layerTensorNames(this.#config.family, layer).attentionOutput,
          outFeatures: hiddenSize,
        },
      ],
      bias: attentionOutputBias,
    });
  }

  #mlp(layer: number, normalized: LinearInput): string {
    const experts = expertsOf(this.#config, layer);
    if (experts !== null) return this.#experts(layer, experts, normalized);
    const { first, down } = mlpLayers(this.#config, layer);
    const prefix = `layers.${layer}.mlp`;
    const { family, activation } = this.#config;
    const given = this.#linear(normalized, first);
    const activated = family.gatesMlp
      ? emitGated(this.#graph, prefix, given, activation)
      : emitActivation(this.#graph, given, activation);
    return this.#linear({ value: activated, rowsLike: normalized.rowsLike }, down);
  }

  #experts(layer: number, experts: ExpertConfig, input: LinearInput): string {
    const type = this.#activations;
    const floats = { kind: 'float', type, activations: type } as const;
    const { linear } = this.#formats;
    const emit = (format: WeightFormat) => (rows: LinearInput, of: LinearLayer) =>
      emitLinear(this.#graph, this.#weights, of, rows, format, this.#quantizer);
    return emitExperts(this.#graph, this.#config, experts, layer, input, {
      type,
      router: emit(floats),
      expert: emit(linear),
    });
  }

  /** Adds the LM head; `hidden` is [wanted, hidden]. */
  #project(hidden: string, embedding: VocabularyMatrix): void {
    capLogits(this.#graph, this.#config, (logits) => this.#projectTo(logits, hidden, embedding));
  }

  #projectTo(logits: string, hidden: string, embedding: VocabularyMatrix): void {
    const { tieWordEmbeddings, family, vocabSize, hiddenSize } = this.#config;
    const tensor = tieWordEmbeddings ? family.tensors.embedding : family.tensors.lmHead;
    const format = this.#formats.lmHead;
    if (format.kind !== 'rows') {
      const matrix = tieWordEmbeddings ? embedding : this.#vocabularyMatrix(tensor, format);
      if (this.#activations === 'float') {
        matrix.project(hidden, logits);
      } else {
        matrix.project(hidden, 'lm_head/Half');
        cast(this.#graph, logits, 'lm_head/Half', 'float');
      }
      return;
    }
    const tensors = [{ name: `${tensor}.weight`, rows: vocabSize }];
    emitRowMatmul(
      this.#graph,
      this.#weights,
      { name: 'lm_head', tensors, columns: hiddenSize },
      { output: logits, input: hidden, rowsLike: 'logits_index' },
      this.#quantizer,
    );
  }

  /**
   * In the last layer, keeps only the tokens whose logits are wanted: what follows the attention
   * then costs the same for a prompt as for one token. [tokens, n] becomes [wanted, n].
   */
  #pickWanted(value: string, last: boolean): string {
    return last ? this.#graph.node(`${value}/Wanted`, 'Gather', [value, 'logits_index']) : value;
  }

  #linear(input: LinearInput, layer: LinearLayer): string {
    const { linear } = this.#formats;
    const format =
      linear.kind === 'rows' ? { ...linear, step: this.#steps.get(layer.name) } : linear;
    this.#observer?.linear(layer.name, input.value);
    const output = emitLinear(this.#graph, this.#weights, layer, input, format, this.#quantizer);
    return this.#adapters?.add(output, layer, input) ?? output;
  }

  #vocabularyMatrix(tensor: string, format: FloatFormat | BlockFormat): VocabularyMatrix {
    const { vocabSize, hiddenSize } = this.#config;
    const shape = [vocabSize, hiddenSize] as const;
    return vocabularyMatrix(this.#graph, this.#weights, tensor, shape, format);
  }
}
