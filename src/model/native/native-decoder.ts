import { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { ExpertConfig } from '../huggingface/expert-config.ts';
import { emitActivation, emitGated } from '../graph/activation.ts';
import {
  addPositions,
  capLogits,
  declareHidden,
  fusedParts,
  scaleEmbedding,
} from '../graph/decoder-parts.ts';
import { DecoderNorms } from '../graph/decoder-norms.ts';
import { declareSinks } from '../graph/attention-sinks.ts';
import { expertsOf } from '../graph/expert-layers.ts';
import { emitExperts } from '../graph/experts.ts';
import { mlpLayers } from '../graph/mlp-layers.ts';
import { emitRmsNorm } from '../graph/rms-norm.ts';
import { type HeadNorms, layerTensorNames } from '../huggingface/families.ts';
import { emitLinear, type LinearLayer, loadBias, matrixOf } from '../graph/linear.ts';
import type { KvCacheDtype, Precision } from '../build/manifest.ts';
import { inRotaryOrder } from '../graph/rotary-order.ts';
import { declareRotaryTables } from '../graph/rotary-tables.ts';
import type { GroupPrefix } from '../graph/token-packing.ts';
import { RowQuantizer } from '../quantize/row-quantizer.ts';
import { vocabularyMatrix } from '../graph/vocabulary-matrix.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { declareBest, emitBest, WANTS_LOGITS } from './best.ts';
import { type NativeAttention, nativeAttention } from './native-attention.ts';
import { NativeAdapters } from './native-adapters.ts';
import { headFormat, nativeFormat } from './native-format.ts';
import { emitNativeLinear, isGate, type LinearFusion, type NormBefore } from './native-linear.ts';
import { addNativeMatrix, emitRows, type NativeMatrix } from './native-matrix.ts';

export interface NativeFormats {
  readonly precision: Extract<Precision, 'int8' | 'int8-static' | 'int4'>;
  readonly kvCacheDtype: KvCacheDtype;
  /** See NumberFormats. */
  readonly steps?: ReadonlyMap<string, number> | undefined;
  /** Adds inputs for adapters of up to this rank. */
  readonly maxAdapterRank?: number | undefined;
}

/**
 * A decoder of the operators of native/, with the inputs and outputs of buildDecoderGraph, or with two
 * groups those of buildMixedGraph: five nodes a layer, the norms, gates and residuals being part of the
 * products. An int8 cache has positions of `nativePositionWidth`.
 */
export function buildNativeGraph(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NativeFormats,
  groups: readonly GroupPrefix[],
): GraphBuilder {
  return new NativeEmitter(config, weights, formats).emit(groups);
}

class NativeEmitter {
  readonly #graph = new GraphBuilder('decoder');
  readonly #config: DecoderConfig;
  readonly #weights: WeightSource;
  readonly #formats: NativeFormats;
  readonly #norms: DecoderNorms;
  readonly #adapters: NativeAdapters | null;

  constructor(config: DecoderConfig, weights: WeightSource, formats: NativeFormats) {
    this.#config = config;
    this.#weights = inRotaryOrder(config, weights);
    this.#formats = formats;
    this.#norms = new DecoderNorms(this.#graph, config, this.#weights, 'float');
    const { maxAdapterRank } = formats;
    this.#adapters =
      maxAdapterRank === undefined ? null : new NativeAdapters(this.#graph, maxAdapterRank);
  }

  emit(groups: readonly GroupPrefix[]): GraphBuilder {
    const graph = this.#graph;
    const config = this.#config;
    const { numLayers, vocabSize } = config;
    graph.input('logits_index', 'int64', ['wanted']);
    declareRotaryTables(graph, config, 'float');
    declareSinks(graph, config, this.#weights, 'float');
    const attention = nativeAttention(graph, config, groups, this.#formats.kvCacheDtype);
    const head = this.#lmHead();
    const embedded = this.#embed(head, attention.tokenIds);
    const scaled = scaleEmbedding(graph, config, 'float', embedded);
    let hidden = addPositions(graph, config, this.#weights, 'float', scaled, attention);
    for (let layer = 0; layer < numLayers; layer++) {
      const attended = this.#attention(layer, hidden, attention);
      const last = layer === numLayers - 1;
      const before = pick(hidden);
      const added = this.#attentionOutput(layer, pick(attended), before);
      hidden = this.#mlp(layer, config.parallelResidual ? before : added, added);

      // Above the last attention, only what logits are wanted of.
      function pick(value: string): string {
        return last ? graph.node(`${value}/Wanted`, 'Gather', [value, 'logits_index']) : value;
      }
    }
    this.#project(head, hidden);
    graph.output('logits', 'float', ['wanted', vocabSize]);
    declareBest(graph);
    attention.declareOutputs();
    return graph;
  }

  #lmHead(): NativeMatrix {
    const { tieWordEmbeddings, family, vocabSize, hiddenSize } = this.#config;
    const { embedding, lmHead } = family.tensors;
    const tensors = [{ name: `${tieWordEmbeddings ? embedding : lmHead}.weight`, rows: vocabSize }];
    const source = { name: 'lm_head', tensors, columns: hiddenSize };
    return addNativeMatrix(this.#graph, this.#weights, source, headFormat(this.#weights, source));
  }

  #embed(head: NativeMatrix, tokenIds: string): string {
    const { tieWordEmbeddings, family, vocabSize, hiddenSize } = this.#config;
    if (tieWordEmbeddings) return emitRows(this.#graph, head, 'embedding/Rows', tokenIds);
    const shape = [vocabSize, hiddenSize] as const;
    const format = { kind: 'blocks', bits: 8, activations: 'float' } as const;
    const { embedding } = family.tensors;
    return vocabularyMatrix(this.#graph, this.#weights, embedding, shape, format).embed(tokenIds);
  }

  #attention(layer: number, hidden: string, attention: NativeAttention): string {
    const { numHeads, numKvHeads, headDim, hiddenSize, queryKeyValueBias, family } = this.#config;
    const names = layerTensorNames(family, layer);
    const sizes = [numHeads, numKvHeads, numKvHeads].map((count) => count * headDim);
    const { input, norm } = this.#normBefore(names.attentionNorm, hidden);
    const qkv = this.#adapted(
      false,
      {
        name: `layers.${layer}.attention.qkv`,
        inFeatures: hiddenSize,
        parts: fusedParts(names.queryKeyValue, sizes),
        bias: queryKeyValueBias,
      },
      input,
      { norm },
    );
    return attention.attend(layer, qkv, this.#headNorms(names.headNorms));
  }

  #headNorms(norms: HeadNorms | null): HeadNorms | null {
    if (norms === null) return null;
    const { numHeads, numKvHeads, headDim } = this.#config;
    const [queries, keys] = norms.over === 'head' ? [1, 1] : [numHeads, numKvHeads];
    return {
      over: norms.over,
      query: this.#norms.weight(norms.query, queries * headDim),
      key: this.#norms.weight(norms.key, keys * headDim),
    };
  }

  #attentionOutput(layer: number, attended: string, residual: string): string {
    const { numHeads, headDim, hiddenSize, attentionOutputBias, family } = this.#config;
    const names = layerTensorNames(family, layer);
    return this.#added(layer, names.attentionOutputNorm, residual, attended, {
      name: `layers.${layer}.attention.output`,
      inFeatures: numHeads * headDim,
      parts: [{ tensor: names.attentionOutput, outFeatures: hiddenSize }],
      bias: attentionOutputBias,
    });
  }

  /** @param residual what the result is added to */
  #mlp(layer: number, hidden: string, residual: string): string {
    const config = this.#config;
    const { mlpNorm, mlpOutputNorm } = layerTensorNames(config.family, layer);
    const experts = expertsOf(config, layer);
    if (experts !== null) {
      const computed = this.#experts(layer, experts, this.#normalized(mlpNorm, hidden));
      return this.#graph.node(`layers.${layer}.mlp/Sum`, 'Add', [residual, computed]);
    }
    const { first, down } = mlpLayers(config, layer);
    const { input, norm } = this.#normBefore(mlpNorm, hidden);
    const activated = this.#activated(layer, first, input, norm);
    return this.#added(layer, mlpOutputNorm, residual, activated, down);
  }

  #activated(
    layer: number,
    first: LinearLayer,
    input: string,
    norm: NormBefore | undefined,
  ): string {
    const { activation, family } = this.#config;
    const isWanted = this.#isLast(layer);
    if (!family.gatesMlp) {
      const up = this.#adapted(isWanted, first, input, { norm });
      return emitActivation(this.#graph, up, activation);
    }
    if (isGate(activation)) {
      return this.#adapted(isWanted, first, input, { norm, gate: activation });
    }
    const gateUp = this.#adapted(isWanted, first, input, { norm });
    return emitGated(this.#graph, `layers.${layer}.mlp`, gateUp, activation);
  }

  #experts(layer: number, experts: ExpertConfig, value: string): string {
    const graph = this.#graph;
    const floats = { kind: 'float', type: 'float', activations: 'float' } as const;
    const quantizer = new RowQuantizer(graph);
    return emitExperts(
      graph,
      this.#config,
      experts,
      layer,
      { value, rowsLike: '' },
      {
        type: 'float',
        router: (rows, of) => emitLinear(graph, this.#weights, of, rows, floats, quantizer),
        expert: (rows, of) => this.#linear(of, rows.value, {}),
      },
    );
  }

  #project(head: NativeMatrix, hidden: string): void {
    const { family, vocabSize, logitScale, logitSoftcap } = this.#config;
    const { finalNorm } = family.tensors;
    // The projection is linear, so the logits' scale can be the norm's.
    const { input, norm } = this.#normBefore(finalNorm, hidden, logitScale);
    // Capped logits can be equal where the product's are not.
    const isCapped = logitSoftcap !== null;
    const wantsLogits = isCapped ? undefined : this.#graph.input(WANTS_LOGITS, 'int32', []);
    capLogits(this.#graph, this.#config, (logits) =>
      emitNativeLinear(this.#graph, head, logits, input, { norm, wantsLogits }),
    );
    if (isCapped) emitBest(this.#graph, vocabSize);
    // The product has its norm inside: what embeddings are made of takes one of its own.
    const normalized = norm
      ? emitRmsNorm(this.#graph, 'hidden/Norm', hidden, norm.weight, norm.epsilon)
      : input;
    declareHidden(this.#graph, this.#config, 'float', normalized);
  }

  /** A layer's product added to the residual, after a norm if there is one. */
  #added(
    layer: number,
    norm: string | null,
    residual: string,
    input: string,
    linear: LinearLayer,
  ): string {
    const isWanted = this.#isLast(layer);
    if (norm === null) return this.#adapted(isWanted, linear, input, { residual });
    const normalized = this.#norms.plain(norm, this.#adapted(isWanted, linear, input, {}));
    return this.#graph.node(`${norm}/Sum`, 'Add', [residual, normalized]);
  }

  #isLast(layer: number): boolean {
    return layer === this.#config.numLayers - 1;
  }

  /**
   * A layer, with what adapters add to it.
   * @param isWanted it has the tokens that logits are wanted of, and not all
   */
  #adapted(isWanted: boolean, layer: LinearLayer, input: string, fusion: LinearFusion): string {
    const added = this.#adapters?.add(layer, input, fusion.norm, isWanted);
    return this.#linear(layer, input, { ...fusion, added });
  }

  #linear(layer: LinearLayer, input: string, fusion: LinearFusion): string {
    const bits = this.#formats.precision === 'int4' ? 4 : 8;
    const bias = layer.bias ? () => loadBias(this.#weights, layer) : undefined;
    const source = matrixOf(layer);
    const format = nativeFormat(this.#weights, source, bits);
    const isGated = fusion.gate !== undefined;
    const matrix = addNativeMatrix(this.#graph, this.#weights, source, format, isGated);
    return emitNativeLinear(this.#graph, matrix, `${layer.name}/Linear`, input, {
      ...fusion,
      bias,
      step: this.#formats.steps?.get(layer.name),
    });
  }

  #normalized(tensor: string | null, hidden: string): string {
    return tensor === null ? hidden : this.#norms.plain(tensor, hidden);
  }

  /** What a product reads, and its norm if that can be part of it. */
  #normBefore(
    tensor: string | null,
    hidden: string,
    scale = 1,
  ): { readonly input: string; readonly norm?: NormBefore } {
    if (tensor === null) return { input: hidden };
    const { hiddenSize, rmsNormEps, family } = this.#config;
    if (family.norms === 'layer') return { input: this.#norms.plain(tensor, hidden, scale) };
    const weight = this.#norms.weight(tensor, hiddenSize, scale);
    return { input: hidden, norm: { weight, epsilon: rmsNormEps } };
  }
}
