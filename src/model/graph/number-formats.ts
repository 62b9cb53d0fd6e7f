import type { ActivationDtype, Precision } from '../manifest.ts';
import type { LayerKvScales } from './kv-scales.ts';

/** The number formats of a decoder graph. */
export interface NumberFormats {
  /** Precision of the weights. */
  readonly precision: Precision;
  /**
   * Type of everything between the graph's nodes, of norms, biases and scales, and of the KV cache;
   * float32 if left out, which the precisions fp32, int8 and int8-static need.
   */
  readonly activationDtype?: ActivationDtype;
  /** By layer, for a KV cache of int8. */
  readonly kvScales?: readonly LayerKvScales[] | undefined;
  /** Steps for int8-static, by name of the linear layer: see StaticActivations. */
  readonly steps?: ReadonlyMap<string, number> | undefined;
  /** Adds inputs for adapters of up to this rank, in graphs whose activations are float32. */
  readonly maxAdapterRank?: number | undefined;
  /** Adds inputs for embeddings in place of tokens. */
  readonly takesEmbeddings?: boolean | undefined;
}
