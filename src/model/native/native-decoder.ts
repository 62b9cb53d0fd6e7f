import { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { capLogits, declareHidden, fusedParts, scaleEmbedding } from '../graph/decoder-parts.ts';
import { DecoderNorms } from '../graph/decoder-norms.ts';
import { emitRmsNorm } from '../graph/rms-norm.ts';
import { type HeadNorms, layerTensorNames } from '../huggingface/families.ts';
import { type LinearLayer, loadBias } from '../graph/linear.ts';
import type { KvCacheDtype, Precision } from '../build/manifest.ts';
import { inRotaryOrder } from '../graph/rotary-order.ts';
import { declareRotaryTables } from '../graph/rotary-tables.ts';
import type { GroupPrefix } from '../graph/token-packing.ts';
import { vocabularyMatrix } from '../graph/vocabulary-matrix.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { emitBest } from './best.ts';
import { type NativeAttention, nativeAttention } from './native-attention.ts';
import { emitNativeLinear, type LinearFusion, type NormBefore } from './native-linear.ts';

export interface NativeFormats {
  readonly precision: Extract<Precision, 'int8' | 'int4'>;
  readonly kvCacheDtype: KvCacheDtype;
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

  constructor(config: DecoderConfig, weights: WeightSource, formats: NativeFormats) {
    this.#config = config;
    this.#weights = inRotaryOrder(config, weights);
    this.#formats = formats;
    this.#norms = new DecoderNorms(this.#graph, config, this.#weights, 'float');
  }

  emit(groups: readonly GroupPrefix[]): GraphBuilder {
    const graph = this.#graph;
    const config = this.#config;
    const { numLayers, family, vocabSize, hiddenSize } = config;
    graph.input('logits_index', 'int64', ['wanted']);
    declareRotaryTables(graph, config, 'float');
    const attention = nativeAttention(graph, config, groups, this.#formats.kvCacheDtype);
    const { embedding: tensor } = family.tensors;
    const shape = [vocabSize, hiddenSize] as const;
    const format = { kind: 'blocks', bits: 8, activations: 'float' } as const;
    const embedding = vocabularyMatrix(graph, this.#weights, tensor, shape, format);
    let hidden = scaleEmbedding(graph, config, 'float', embedding.embed(attention.tokenIds));
    for (let layer = 0; layer < numLayers; layer++) {
      const attended = this.#attention(layer, hidden, attention);
      const last = layer === numLayers - 1;
      hidden = this.#attentionOutput(layer, pick(attended), pick(hidden));
      hidden = this.#mlp(layer, hidden);

      // Above the last attention, only what logits are wanted of.
      function pick(value: string): string {
        return last ? graph.node(`${value}/Wanted`, 'Gather', [value, 'logits_index']) : value;
      }
    }
    this.#project(hidden);
    graph.output('logits', 'float', ['wanted', vocabSize]);
    emitBest(graph, vocabSize);
    attention.declareOutputs();
    return graph;
  }

  #attention(layer: number, hidden: string, attention: NativeAttention): string {
    const { numHeads, numKvHeads, headDim, hiddenSize, queryKeyValueBias, family } = this.#config;
    const names = layerTensorNames(family, layer);
    const sizes = [numHeads, numKvHeads, numKvHeads].map((count) => count * headDim);
    const qkv = this.#linear(
      {
        name: `layers.${layer}.attention.qkv`,
        inFeatures: hiddenSize,
        parts: fusedParts(names.queryKeyValue, sizes),
        bias: queryKeyValueBias,
      },
      hidden,
      { norm: this.#normBefore(names.attentionNorm) },
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
    return this.#added(names.attentionOutputNorm, residual, attended, {
      name: `layers.${layer}.attention.output`,
      inFeatures: numHeads * headDim,
      parts: [{ tensor: names.attentionOutput, outFeatures: hiddenSize }],
      bias: attentionOutputBias,
    });
  }

  #mlp(layer: number, hidden: string): string {
    const { hiddenSize, intermediateSize, mlpBias, activation, family } = this.#config;
    const names = layerTensorNames(family, layer);
    const gated = this.#linear(
      {
        name: `layers.${layer}.mlp.gate_up`,
        inFeatures: hiddenSize,
        parts: fusedParts(names.gateUp, [intermediateSize, intermediateSize]),
        bias: mlpBias,
      },
      hidden,
      { norm: this.#normBefore(names.mlpNorm), gate: activation },
    );
    return this.#added(names.mlpOutputNorm, hidden, gated, {
      name: `layers.${layer}.mlp.down`,
      inFeatures: intermediateSize,
      parts: [{ tensor: names.down, outFeatures: hiddenSize }],
      bias: mlpBias,
    });
  }

  #project(hidden: string): void {
    const { tieWordEmbeddings, family, vocabSize, hiddenSize, logitScale } = this.#config;
    const { embedding, lmHead, finalNorm } = family.tensors;
    const tensors = [{ name: `${tieWordEmbeddings ? embedding : lmHead}.weight`, rows: vocabSize }];
    const source = { name: 'lm_head', tensors, columns: hiddenSize };
    // The projection is linear, so the logits' scale can be the norm's.
    const norm = this.#normBefore(finalNorm, logitScale);
    capLogits(this.#graph, this.#config, (logits) =>
      emitNativeLinear(this.#graph, this.#weights, source, 8, logits, hidden, { norm }),
    );
    // The product has its norm inside: what embeddings are made of takes one of its own.
    const normalized = norm
      ? emitRmsNorm(this.#graph, 'hidden/Norm', hidden, norm.weight, norm.epsilon)
      : hidden;
    declareHidden(this.#graph, this.#config, 'float', normalized);
  }

  /** A layer's product added to the residual, after a norm if there is one. */
  #added(norm: string | null, residual: string, input: string, layer: LinearLayer): string {
    if (norm === null) return this.#linear(layer, input, { residual });
    const normalized = this.#norms.plain(norm, this.#linear(layer, input, {}));
    return this.#graph.node(`${norm}/Sum`, 'Add', [residual, normalized]);
  }

  #linear(layer: LinearLayer, input: string, fusion: LinearFusion): string {
    const { name, inFeatures, parts } = layer;
    const tensors = parts.map(({ tensor, outFeatures }) => ({
      name: `${tensor}.weight`,
      rows: outFeatures,
    }));
    const bits = this.#formats.precision === 'int4' ? 4 : 8;
    const bias = layer.bias ? () => loadBias(this.#weights, layer) : undefined;
    return emitNativeLinear(
      this.#graph,
      this.#weights,
      { name, tensors, columns: inFeatures },
      bits,
      `${name}/Linear`,
      input,
      { ...fusion, bias },
    );
  }

  #normBefore(tensor: string | null, scale = 1): NormBefore | undefined {
    if (tensor === null) return undefined;
    const { hiddenSize, rmsNormEps } = this.#config;
    return { weight: this.#norms.weight(tensor, hiddenSize, scale), epsilon: rmsNormEps };
  }
}
