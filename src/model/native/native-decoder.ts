import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { KvCacheDtype } from '../manifest.ts';
import { ONE_GROUP } from '../graph/decoder-graph.ts';
import { decoderGraph } from '../graph/decoder.ts';
import { OnnxRuntimeOps } from '../graph/onnxruntime-ops.ts';
import type { NumberFormats } from '../graph/number-formats.ts';
import type { Prediction } from '../graph/prediction.ts';
import { predictionGraph } from '../graph/prediction-graph.ts';
import type { GroupPrefix } from '../graph/token-packing.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { nativeAttention } from './native-attention.ts';
import { NativeOps } from './native-ops.ts';

/**
 * A decoder of the operators of native/, with the inputs and outputs of buildDecoderGraph: five nodes a
 * layer, the norms, gates and residuals being part of the products. Weights have 8 or 4 bits, and an int8
 * cache has positions of `nativePositionWidth`.
 */
export function buildNativeGraph(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
  kvCacheDtype: KvCacheDtype,
  groups: readonly GroupPrefix[] = ONE_GROUP,
): GraphBuilder {
  return decoderGraph(
    new NativeOps(config, weights, formats),
    (graph) => nativeAttention(graph, config, groups, kvCacheDtype),
    formats.takesEmbeddings,
  );
}

/** A module that predicts, of the operators of native/, with the inputs and outputs of predictionGraph. */
export function buildNativePrediction(
  { config, weights, form }: Prediction,
  formats: NumberFormats,
  kvCacheDtype: KvCacheDtype,
): GraphBuilder {
  return predictionGraph(
    new NativeOps(config, weights, formats),
    (graph) => nativeAttention(graph, config, ONE_GROUP, kvCacheDtype),
    form,
  );
}

/** A decoder of ONNX Runtime's operators, except for attention, which is that of native/: in float32. */
export function buildMixedKernels(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
  groups: readonly GroupPrefix[] = ONE_GROUP,
): GraphBuilder {
  return decoderGraph(
    new OnnxRuntimeOps(config, weights, formats),
    (graph) => nativeAttention(graph, config, groups, 'float32'),
    formats.takesEmbeddings,
  );
}
