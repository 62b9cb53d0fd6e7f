import { GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import { layerTensorNames } from '../huggingface/families.ts';
import { cast, floatInitializer, scalar } from '../quantize/float-matrix.ts';
import { normalizeHeads } from './head-norms.ts';
import type { LayerKvScales } from './kv-scales.ts';
import { emitLinear, type LinearInput, type LinearLayer, type LinearPart } from './linear.ts';
import type { ActivationDtype, Precision } from '../build/manifest.ts';
import { pagedAttention } from './paged-attention.ts';
import { emitRmsNorm } from './rms-norm.ts';
import { inRotaryOrder } from './rotary-order.ts';
import { declareRotaryTables } from './rotary-tables.ts';
import { slotAttention } from './slot-attention.ts';
import { emitRowProduct } from '../quantize/row-matrix.ts';
import { RowQuantizer } from '../quantize/row-quantizer.ts';
import type { GroupPrefix } from './token-packing.ts';
import { vocabularyMatrix, type VocabularyMatrix } from './vocabulary-matrix.ts';
import {
  type BlockFormat,
  type FloatFormat,
  type FloatType,
  type WeightFormats,
  weightFormats,
} from '../quantize/weight-format.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/** A normalized hidden state, and the sum of everything before it that the next layer adds to. */
interface Stream {
  readonly normalized: string;
  readonly residual: string;
}

/** What numbers a decoder graph has. */
export interface NumberFormats {
  /** Of the weights. */
  readonly precision: Precision;
  /**
   * Of everything between the graph's nodes, of norms, biases and scales, and of the KV cache; float32
   * if left out, which the precisions fp32 and int8 need.
   */
  readonly activationDtype?: ActivationDtype;
  /** By layer, for a KV cache of int8. */
  readonly kvScales?: readonly LayerKvScales[] | undefined;
}

/**
 * Describes a decoder as an ONNX graph. Weights are fetched when the graph is written.
 *
 * Inputs: `input_ids` int64 [batch, seq]; `seqlens_k` int32 [batch], each row's length after this
 * step minus one; `total_sequence_length` int32 [], the longest of those lengths; `logits_index`
 * int64 [wanted], the places in `input_ids`, read row by row, whose logits are wanted; and
 * `past_key_values.{layer}.key|value` [batch, kv_heads, capacity, head_dim], of the activations' type or
 * int8.
 * Outputs: `logits` float [wanted, vocab] and `present.{layer}.key|value`, shaped like the past:
 * bound to the past's own buffers, they are appended to in place.
 */
export function buildDecoderGraph(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
): GraphBuilder {
  const addAttention = addSlotAttention(config, formats, ['']);
  return new DecoderEmitter(config, weights, formats, addAttention).emit();
}

/**
 * The same decoder over two groups of rows in one run: those that decode, with the inputs and outputs
 * of buildDecoderGraph, and those that prefill, with the same names behind `prefill.`. What works
 * token by token reads its weights once for both; attention runs for each group by itself.
 * `logits_index` counts the prefill group's places on after the decode group's.
 */
export function buildMixedGraph(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
): GraphBuilder {
  const addAttention = addSlotAttention(config, formats, ['', 'prefill.']);
  return new DecoderEmitter(config, weights, formats, addAttention).emit();
}

/**
 * The same decoder over a KV cache in blocks: decode, prefill and both at once, of sequences of any
 * length, as one row of tokens. For providers with a kernel for PagedAttention: they have it in float16
 * only.
 *
 * Inputs: `input_ids` int64 [tokens], all sequences' tokens one after the other;
 * `cumulative_sequence_length` int32 [batch + 1], where each sequence's begin and the last one's end;
 * `past_seqlens` int32 [batch], positions that the cache holds of each; `block_table` int32
 * [batch, blocks per sequence]; `attention_metadata` int32 [2] in the host's memory, the most tokens
 * that one sequence has here and the length of the longest with them; `logits_index` int64 [wanted];
 * and `past_key_values.{layer}.key|value` [blocks, block_size, kv_heads, head_dim] of the activations'
 * type, a block size being a power of two from 16 on.
 * Outputs: `logits` float [wanted, vocab] and `present.{layer}.key|value`, bound to the past's own
 * buffers.
 */
export function buildPagedGraph(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
): GraphBuilder {
  const addAttention: AddAttention = (graph, type) => pagedAttention(graph, config, type);
  return new DecoderEmitter(config, weights, formats, addAttention).emit();
}

/** Adds attention to a graph with rotary tables, over values of a type. */
type AddAttention = (graph: GraphBuilder, type: FloatType) => DecoderAttention;

function addSlotAttention(
  config: DecoderConfig,
  { kvScales }: NumberFormats,
  groups: readonly GroupPrefix[],
): AddAttention {
  return (graph, type) => slotAttention(graph, config, type, groups, kvScales);
}

class DecoderEmitter {
  readonly #graph = new GraphBuilder('decoder');
  readonly #quantizer = new RowQuantizer(this.#graph);
  readonly #config: DecoderConfig;
  readonly #weights: WeightSource;
  readonly #formats: WeightFormats;
  readonly #activations: FloatType;
  readonly #addAttention: AddAttention;

  constructor(
    config: DecoderConfig,
    weights: WeightSource,
    { precision, activationDtype = 'float32' }: NumberFormats,
    addAttention: AddAttention,
  ) {
    this.#config = config;
    this.#weights = inRotaryOrder(config, weights);
    this.#activations = activationDtype === 'float16' ? 'float16' : 'float';
    this.#formats = weightFormats(precision, this.#activations);
    this.#addAttention = addAttention;
  }

  emit(): GraphBuilder {
    const graph = this.#graph;
    const { numLayers, family, vocabSize, logitScale } = this.#config;
    graph.input('logits_index', 'int64', ['wanted']);
    declareRotaryTables(graph, this.#config, this.#activations);
    const attention = this.#addAttention(graph, this.#activations);

    const embedding = this.#vocabularyMatrix(family.tensors.embedding, this.#formats.embedding);
    let hidden = this.#scaleEmbedding(embedding.embed(attention.tokenIds));
    let residual: string | undefined;
    for (let layer = 0; layer < numLayers; layer++) {
      const names = layerTensorNames(this.#config.family, layer);
      const before = this.#norm(names.attentionNorm, hidden, residual);
      const last = layer === numLayers - 1;
      const attended = this.#pickWanted(this.#attention(layer, before, attention), last);
      const rowsLike = last ? 'logits_index' : attention.tokenIds;
      const projected = this.#attentionOutput(layer, { value: attended, rowsLike });
      const added = this.#outputNorm(names.attentionOutputNorm, projected);
      const after = this.#norm(names.mlpNorm, added, this.#pickWanted(before.residual, last));
      const transformed = this.#mlp(layer, { value: after.normalized, rowsLike });
      hidden = this.#outputNorm(names.mlpOutputNorm, transformed);
      ({ residual } = after);
    }
    // The projection is linear, so the logits' scale can be the norm's.
    const { normalized } = this.#norm(family.tensors.finalNorm, hidden, residual, logitScale);
    this.#project(normalized, embedding);
    graph.output('logits', 'float', ['wanted', vocabSize]);
    attention.declareOutputs();
    return graph;
  }

  #scaleEmbedding(embedded: string): string {
    const { embeddingScale } = this.#config;
    if (embeddingScale === 1) return embedded;
    const scale = scalar(this.#graph, 'embedding/scale', this.#activations, embeddingScale);
    return this.#graph.node('embedding/Scaled', 'Mul', [embedded, scale]);
  }

  /** Adds the LM head; `hidden` is [wanted, hidden]. */
  #project(hidden: string, embedding: VocabularyMatrix): void {
    const { logitSoftcap } = this.#config;
    if (logitSoftcap === null) {
      this.#projectTo('logits', hidden, embedding);
      return;
    }
    this.#projectTo('lm_head/Uncapped', hidden, embedding);
    const cap = scalar(this.#graph, 'lm_head/cap', 'float', logitSoftcap);
    const share = this.#graph.node('lm_head/Share', 'Div', ['lm_head/Uncapped', cap]);
    const capped = this.#graph.node('lm_head/Tanh', 'Tanh', [share]);
    this.#graph.node('lm_head/Capped', 'Mul', [capped, cap], { outputs: ['logits'] });
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
    emitRowProduct(
      this.#graph,
      this.#weights,
      { name: 'lm_head', tensors, columns: hiddenSize },
      { output: logits, input: hidden, rowsLike: 'logits_index' },
      this.#quantizer,
    );
  }

  /** What a norm multiplies [size] values by; all of them times `scale`. */
  #normWeight(tensor: string, size: number, scale = 1): string {
    const name = `${tensor}.weight`;
    return floatInitializer(this.#graph, name, [size], this.#activations, async () => {
      const values = await this.#weights.get(name, [size]);
      const offset = this.#config.family.normsAddOne ? 1 : 0;
      return values.map((value) => scale * (offset + value));
    });
  }

  #plainNorm(tensor: string, hidden: string): string {
    const { hiddenSize, rmsNormEps } = this.#config;
    const weight = this.#normWeight(tensor, hiddenSize);
    return emitRmsNorm(this.#graph, `${tensor}/Norm`, hidden, weight, rmsNormEps);
  }

  /**
   * RMS normalization of `hidden`, added to `residual` first if there is one; only added without a
   * norm. The result is multiplied by `scale`.
   */
  #norm(tensor: string | null, hidden: string, residual: string | undefined, scale = 1): Stream {
    if (tensor === null) {
      const sum =
        residual === undefined
          ? hidden
          : this.#graph.node(`${hidden}/Sum`, 'Add', [residual, hidden]);
      return { normalized: sum, residual: sum };
    }
    if (residual === undefined) {
      return { normalized: this.#plainNorm(tensor, hidden), residual: hidden };
    }
    const weight = this.#normWeight(tensor, this.#config.hiddenSize, scale);
    const epsilon = this.#config.rmsNormEps;
    const sum = `${tensor}/Sum`;
    const normalized = this.#graph.node(
      `${tensor}/Norm`,
      'SkipSimplifiedLayerNormalization',
      [residual, hidden, weight],
      {
        domain: MICROSOFT_DOMAIN,
        outputs: [`${tensor}/Norm`, '', '', sum],
        attributes: { epsilon },
      },
    );
    return { normalized, residual: sum };
  }

  #attention(layer: number, { normalized }: Stream, attention: DecoderAttention): string {
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
    const query = this.#normWeight(headNorms.query, isShared ? headDim : numHeads * headDim);
    const key = this.#normWeight(headNorms.key, isShared ? headDim : numKvHeads * headDim);
    const weights = { ...headNorms, query, key };
    return attention.attend(layer, normalizeHeads(this.#graph, this.#config, qkv, weights));
  }

  #outputNorm(tensor: string | null, value: string): string {
    return tensor === null ? value : this.#plainNorm(tensor, value);
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
    const { hiddenSize, intermediateSize, mlpBias } = this.#config;
    const names = layerTensorNames(this.#config.family, layer);
    const prefix = `layers.${layer}.mlp`;
    const gateUp = this.#linear(normalized, {
      name: `${prefix}.gate_up`,
      inFeatures: hiddenSize,
      parts: fusedParts(names.gateUp, [intermediateSize, intermediateSize]),
      bias: mlpBias,
    });
    const [gate, up] = [`${prefix}/gate`, `${prefix}/up`];
    this.#graph.node(`${prefix}/Split`, 'Split', [gateUp], {
      outputs: [gate, up],
      attributes: { axis: -1n, num_outputs: 2n },
    });
    const activated = this.#activate(gate);
    const gated = this.#graph.node(`${prefix}/Mul`, 'Mul', [activated, up]);
    return this.#linear(
      { value: gated, rowsLike: normalized.rowsLike },
      {
        name: `${prefix}.down`,
        inFeatures: intermediateSize,
        parts: [{ tensor: names.down, outFeatures: hiddenSize }],
        bias: mlpBias,
      },
    );
  }

  #activate(gate: string): string {
    const domain = MICROSOFT_DOMAIN;
    if (this.#config.activation === 'gelu_tanh') {
      return this.#graph.node(`${gate}/GELU`, 'FastGelu', [gate], { domain });
    }
    // With alpha 1 this is SiLU, in one kernel.
    const attributes = { alpha: 1 };
    return this.#graph.node(`${gate}/SiLU`, 'QuickGelu', [gate], { domain, attributes });
  }

  /**
   * In the last layer, keeps only the tokens whose logits are wanted: what lies above the attention
   * then costs the same for a prompt as for one token. [tokens, n] becomes [wanted, n].
   */
  #pickWanted(value: string, last: boolean): string {
    return last ? this.#graph.node(`${value}/Wanted`, 'Gather', [value, 'logits_index']) : value;
  }

  #linear(input: LinearInput, layer: LinearLayer): string {
    const { linear } = this.#formats;
    return emitLinear(this.#graph, this.#weights, layer, input, linear, this.#quantizer);
  }

  #vocabularyMatrix(tensor: string, format: FloatFormat | BlockFormat): VocabularyMatrix {
    const { vocabSize, hiddenSize } = this.#config;
    const shape = [vocabSize, hiddenSize] as const;
    return vocabularyMatrix(this.#graph, this.#weights, tensor, shape, format);
  }
}

/** The parts of a layer whose outputs lie side by side: a tensor each, or one tensor with all of them. */
function fusedParts(tensors: readonly string[], sizes: readonly number[]): LinearPart[] {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  return tensors.map((tensor, index) => ({
    tensor,
    outFeatures: tensors.length === 1 ? total : (sizes[index] ?? 0),
  }));
}
