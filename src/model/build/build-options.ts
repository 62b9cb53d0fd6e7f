import type { LayerKvScales } from '../graph/kv-scales.ts';
import type { StaticCalibration } from '../static/static-activations.ts';
import type { ActivationDtype, BuiltModel, KvCacheDtype, Precision } from '../manifest.ts';

export interface BuildOptions {
  readonly precision: Precision;
  /** Type that the decoder computes in: float16 is for GPUs, with fp16 and int4 weights. */
  readonly activationDtype?: ActivationDtype;
  /**
   * Builds graphs of the operators of native/, with a KV cache of that type: int8 and int4 weights with
   * float32 activations have them. ONNX Runtime's operators if left out.
   */
  readonly nativeKernels?: { readonly kvCacheDtype: KvCacheDtype } | undefined;
  /**
   * Builds graphs that adapters of up to this rank can be added to while they run: in float32.
   */
  readonly maxAdapterRank?: number | undefined;
  /** Builds graphs that take embeddings in place of a prompt's tokens: in float32. */
  readonly takesEmbeddings?: boolean | undefined;
  /** Builds a graph of the checkpoint's module for multi-token prediction, too. */
  readonly predicts?: boolean | undefined;
  /** Where built models are kept, see defaultCacheDirectory. */
  readonly cacheDirectory: string;
  /**
   * Longest sequence that will be computed, in tokens, on which the rotary frequencies of some models
   * depend; the longest possible if left out.
   */
  readonly maxModelLen?: number | undefined;
  /**
   * Number of threads that make the matrices of a model with `numParameters`; from two on they are
   * threads of their own. One if left out.
   */
  readonly threads?: ((numParameters: number) => number) | undefined;
  /** Called while building: bytes written, bytes in all, and the weight just written. */
  readonly onProgress?: (done: number, total: number, label: string) => void;
  /** Called with what is wrong before a damaged build in the cache is made again. */
  readonly onDamaged?: (what: string) => void;
  /**
   * Makes the KV cache int8: finds its scales, layer by layer, with a build of the same model whose
   * cache is float32. The cache is what the activations are if left out.
   */
  readonly calibrateKv?: (model: BuiltModel) => Promise<readonly LayerKvScales[]>;
  /** Finds what int8-static has to know of activations; no other precision has any. */
  readonly staticCalibration?: StaticCalibration | undefined;
}
