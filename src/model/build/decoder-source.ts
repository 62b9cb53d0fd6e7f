import type { BuildOptions } from './build-options.ts';
import type { LayerKvScales } from '../graph/kv-scales.ts';
import type { StaticActivations } from '../static/static-activations.ts';
import type { DecoderManifest } from '../manifest.ts';

/** Names of the graphs in a build folder. */
export const GRAPH_FILE = 'decoder.onnx';
export const MIXED_GRAPH_FILE = 'mixed.onnx';
export const PAGED_GRAPH_FILE = 'paged.onnx';
export const PREDICTION_GRAPH_FILE = 'prediction.onnx';
/** Weights, where they are not left in a file of the source's. */
export const WEIGHTS_FILE = `${GRAPH_FILE}.data`;

/** Calibration results of running a model before its graphs are written. */
export interface Calibrated {
  /** For a KV cache of int8. */
  readonly kvScales?: readonly LayerKvScales[] | undefined;
  /** For int8-static. */
  readonly activations?: StaticActivations | undefined;
}

/** The source of decoder graphs, after inspection. */
export interface DecoderSource {
  /** Facts that the graphs depend on in addition to the weights; becomes JSON. */
  readonly facts: unknown;
  /** As in the manifest, if it is known before. */
  readonly slidingWindows?: DecoderManifest['slidingWindows'];
  /** Where the weights are if they are not written; null for a source that writes them. */
  readonly weightsFolder: string | null;
  /**
   * A string that is the same for two sources if and only if their weights are.
   * @param cacheDirectory where hashes of files are remembered
   */
  identity(cacheDirectory: string): Promise<string>;
  /** Writes all graphs to a folder. */
  write(
    folder: string,
    options: BuildOptions,
    calibrated: Calibrated,
  ): Promise<Omit<DecoderManifest, 'formatVersion'>>;
}
