import type { LiveAdapterShape } from './graph/live-adapter-shape.ts';
import type { KvHeads } from './huggingface/layer-parts.ts';

/** Number formats that weights can be built in. */
export const PRECISIONS = [
  'fp32',
  'fp16',
  'int8',
  'int8-blocks',
  'int8-static',
  'int4-mixed',
  'int4',
] as const;
export type Precision = (typeof PRECISIONS)[number];

/** Precisions that our own kernels alone compute. */
export const NATIVE_PRECISIONS: ReadonlySet<Precision> = new Set(['int8-blocks', 'int4-mixed']);

/** Number formats that a decoder can compute in. */
export const ACTIVATION_DTYPES = ['float32', 'float16'] as const;
export type ActivationDtype = (typeof ACTIVATION_DTYPES)[number];

/** Number formats that the KV cache can have. */
export const KV_CACHE_DTYPES = ['float32', 'float16', 'int8', 'int4'] as const;
export type KvCacheDtype = (typeof KV_CACHE_DTYPES)[number];

/** Those that our own kernels alone have. */
export const NATIVE_KV_CACHE_DTYPES: ReadonlySet<string> = new Set(['float16', 'int4']);

/** Types of ONNX that a KV cache's tensors have: of int4, whatever its bytes hold. */
export const KV_ELEMENT_TYPES = {
  float32: 'float',
  float16: 'float16',
  int8: 'int8',
  int4: 'int8',
} as const satisfies Record<KvCacheDtype, string>;

/** Kernels that compute a graph's products and attention. */
export const KERNEL_SETS = ['onnxruntime', 'native'] as const;
export type KernelSet = (typeof KERNEL_SETS)[number];

/**
 * Describes the decoder graph in a build folder: all that is needed to bind it. Stored next to the
 * graph as `manifest.json`.
 */
export interface DecoderManifest {
  /** Raised whenever the graph contract changes; an older build is then built again. */
  readonly formatVersion: number;
  /** Architecture family the graph was built from, such as `llama`. */
  readonly family: string;
  /** Precision of the weights. */
  readonly precision: Precision;
  readonly activationDtype: ActivationDtype;
  readonly kvCacheDtype: KvCacheDtype;
  readonly kernels: KernelSet;
  /** Layers with keys and values in the KV cache: those that attend, which may be none. */
  readonly numLayers: number;
  /** Layers of the KV cache after them, of a module that predicts; left out if there is none. */
  readonly predictionLayers?: number | undefined;
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Heads of each layer of the KV cache; left out where all have the above. */
  readonly layerHeads?: readonly KvHeads[] | undefined;
  readonly vocabSize: number;
  /** Longest sequence that the model's positions (rotary tables) reach, in tokens. */
  readonly maxPositionEmbeddings: number;
  readonly numParameters: number;
  /** In int8-static, how many of the layers' matrices have inputs with a constant scale. */
  readonly constantScales?: { readonly matrices: number; readonly of: number } | undefined;
  /** Inputs for adapters that are added while the model runs; left out if the model takes none. */
  readonly adapters?: LiveAdapterShape | undefined;
  /** Whether a prompt may have embeddings in place of tokens; left out if not. */
  readonly takesEmbeddings?: boolean | undefined;
  /** Whether attention within an image is not causal, and so by our own operator; left out if it is. */
  readonly takesImageEnds?: true | undefined;
  /**
   * Tokens that each of `numLayers` attends to, itself included, null for all before it; left out where all
   * layers do, and where that is not known.
   */
  readonly slidingWindows?: readonly (number | null)[] | undefined;
  /** States of layers that have one in place of attention, in order; left out if all attend. */
  readonly states?: readonly DecoderState[] | undefined;
}

/** A state of a layer: a pool [rows, width] of float32, a row for each text that has one. */
export interface DecoderState {
  readonly name: string;
  readonly width: number;
}

/** A graph on disk, ready to be opened. */
export interface BuiltModel {
  /** The same where the same is computed, however much room a graph has for adapters. */
  readonly contentId: string;
  /** Absolute path of the ONNX file. */
  readonly graphPath: string;
  /** Path of the same decoder over a decode and a prefill group at once; see buildDecoderGraph. */
  readonly mixedGraphPath: string;
  /**
   * Path of the same decoder over a paged KV cache; see buildPagedGraph. Null in float32, in which no
   * provider has a kernel for it, and for exports.
   */
  readonly pagedGraphPath: string | null;
  /** Path of the module that predicts, see predictionGraph; null or left out if none was built. */
  readonly predictionGraphPath?: string | null;
  /** Absolute path of the folder of the graphs' external data: the graphs' own, or an export's. */
  readonly weightsFolder: string;
  readonly manifest: DecoderManifest;
}
