/** Memory that a model takes, known before anything of it is built (docs/sizing.md). */
import { bytesOfPositions, kvShape } from '../../engine/kv-shape.ts';
import { windowsOf } from '../../engine/process/windows-of.ts';
import { wholePages } from '../../engine/windows/window-budget.ts';
import { stateSize } from '../../model/graph/decoder-states.ts';
import { kvHeads, kvWindows, numKvLayers } from '../../model/graph/layer-kinds.ts';
import { vocabularySources } from '../../model/graph/vocabulary-sources.ts';
import type { DecoderConfig } from '../../model/huggingface/config.ts';
import { rowsOf } from '../../model/huggingface/matrix-source.ts';
import { countParameters } from '../../model/huggingface/parameter-count.ts';
import type { Precision } from '../../model/manifest.ts';
import { ownLayerBytes } from '../../model/native/layer-bytes.ts';
import type { StoredPrecision } from '../../model/native/stored-precision.ts';
import { towerParameters } from '../../model/vision/tower-size.ts';
import type { Options } from '../../settings/options.ts';
import type { KernelChoice } from '../choices/kernels.ts';
import type { PrecisionChoice } from '../choices/precision-choice.ts';
import type { ChosenModel } from '../models/model-source.ts';
import type { EngineLimits } from './engine-limits.ts';

/** How a model is computed, as far as it matters here. */
interface Computed {
  readonly chosen: Pick<ChosenModel, 'decoder'>;
  readonly choice: PrecisionChoice;
  readonly kernels: Pick<KernelChoice, 'nativeKernels'>;
}

/** Bytes of a weight with its share of scales. */
interface WeightBytes {
  readonly layers: number;
  /** The same of embeddings and LM head. */
  readonly vocabulary: number;
}

const INT8: WeightBytes = { layers: 1.06, vocabulary: 1.06 };

/** With ONNX Runtime's kernels. */
const BYTES_PER_WEIGHT: Readonly<Record<Precision, WeightBytes>> = {
  fp32: { layers: 4, vocabulary: 4 },
  fp16: { layers: 2, vocabulary: 2 },
  int8: INT8,
  'int8-blocks': INT8,
  'int8-static': INT8,
  'int4-mixed': { layers: 0.77, vocabulary: 1.06 },
  int4: { layers: 0.62, vocabulary: 1.06 },
};

/** Bytes for each value: a step reads one state, and writes another. */
const BYTES_OF_STATES = 2 * Float32Array.BYTES_PER_ELEMENT;

/** Bytes of a weight of the vocabulary with our own kernels: a row shares a scale, or 32 weights do. */
const VOCABULARY_IN_ROWS = 1.002;
const VOCABULARY_IN_BLOCKS = 1.063;

/** Resident memory of a server without a model: its front, and an engine process beside weights and KV cache. */
const BASE_BYTES = 332 * 2 ** 20;
/** The same for each token of the vocabulary: its text in several threads, and its logits. */
const BYTES_PER_TOKEN_TEXT = 870;

/**
 * Resident memory of a server beside weights and KV cache, fitted to servers of 135M to 3.2B parameters and
 * vocabularies of 49,152 to 151,936 tokens (`scripts/bench/sizing.ts`).
 */
export function serverBytes({ vocabSize }: { readonly vocabSize: number }): number {
  return BASE_BYTES + BYTES_PER_TOKEN_TEXT * vocabSize;
}

/**
 * Memory of the weights.
 * @param numParameters of an export, which its graph alone says
 */
export function weightBytes({ chosen, choice, kernels }: Computed, numParameters = 0): number {
  const { decoder } = chosen;
  const { precision, activationDtype, stored = null } = choice;
  // ONNX Runtime computes in float32 then, and keeps weights so.
  const isWidened = precision === 'fp16' && activationDtype === 'float32';
  const kept = isWidened ? 'fp32' : precision;
  if (decoder.kind === 'export') return numParameters * BYTES_PER_WEIGHT[kept].layers;
  const isNative = kernels.nativeKernels !== undefined;
  return checkpointBytes(decoder.config, kept, isNative, stored);
}

/**
 * The same of a checkpoint.
 * @param stored its own integers, where this precision keeps them
 */
export function checkpointBytes(
  config: DecoderConfig,
  precision: Precision,
  isNative: boolean,
  stored: StoredPrecision | null = null,
): number {
  if (isNative && stored?.isNative) return stored.bytes;
  const numWeights = weightsOf(config);
  if (!isNative || precision === 'fp32' || precision === 'fp16') {
    const { layers, vocabulary } = BYTES_PER_WEIGHT[precision];
    return numWeights.layers * layers + numWeights.vocabulary * vocabulary;
  }
  const perWeight = precision === 'int8-blocks' ? VOCABULARY_IN_BLOCKS : VOCABULARY_IN_ROWS;
  return ownLayerBytes(config, precision) + numWeights.vocabulary * perWeight;
}

/** Numbers of weights, by where they are. */
function weightsOf(config: DecoderConfig): Record<keyof WeightBytes, number> {
  const tables = vocabularySources(config);
  const vocabulary = tables.reduce((sum, table) => sum + rowsOf(table) * table.columns, 0);
  return { vocabulary, layers: countParameters(config) - vocabulary };
}

/** Memory of all weights of a plan, those of the part that sees included. */
export function allWeightBytes(
  plan: Computed & {
    readonly chosen: Pick<ChosenModel, 'vision'>;
    readonly options: Options<'visionPrecision'>;
  },
): number {
  return weightBytes(plan) + towerBytes(plan.chosen, plan.options.visionPrecision);
}

/** Memory of the weights of the part that sees; 0 of a model that takes text alone. */
function towerBytes(
  { vision }: Pick<ChosenModel, 'vision'>,
  precision: Options<'visionPrecision'>['visionPrecision'],
): number {
  if (vision === null) return 0;
  const { layers } = BYTES_PER_WEIGHT[precision === 'int8' ? 'int8' : 'fp32'];
  return towerParameters(vision.config.shape) * layers;
}

/**
 * Memory of the KV cache of a text of `numTokens`, in whole pages, and of its states; null of an export. Layers
 * with a sliding window have theirs, the tokens of a step, and what prompts that begin alike go on from.
 */
export function kvCacheBytes(
  {
    chosen: { decoder },
    choice,
    kernels: { nativeKernels },
    options,
    limits,
  }: Computed & {
    readonly options: Options<'kvCacheDtype' | 'speculative'>;
    readonly limits: EngineLimits;
  },
  numTokens: number,
): number | null {
  if (decoder.kind === 'export') return null;
  const { numKvHeads, headDim, recurrence } = decoder.config;
  const other = options.kvCacheDtype === 'int8' ? 'int8' : choice.activationDtype;
  const manifest = {
    kernels: nativeKernels === undefined ? 'onnxruntime' : 'native',
    kvCacheDtype: nativeKernels?.kvCacheDtype ?? other,
    numLayers: numKvLayers(decoder.config),
    predictionLayers: options.speculative === 'mtp' ? 1 : undefined,
    numKvHeads,
    headDim,
    layerHeads: kvHeads(decoder.config),
    slidingWindows: kvWindows(decoder.config),
    states: recurrence ? [] : undefined,
  } as const;
  const shape = kvShape(manifest, 1, numTokens);
  const pages = windowsOf(limits, manifest, shape) ?? wholePages(shape.pageLength);
  const bytesPerPage = bytesOfPositions(shape, shape.pageLength);
  return pages.pagesOf(shape.capacity) * bytesPerPage + BYTES_OF_STATES * stateSize(decoder.config);
}
