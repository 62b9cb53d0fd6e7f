import type { BuildOptions } from './build-options.ts';
import type { LayerKvScales } from '../graph/kv-scales.ts';
import type { DecoderManifest } from './manifest.ts';

/** Names of the graphs in a build folder. */
export const GRAPH_FILE = 'decoder.onnx';
export const MIXED_GRAPH_FILE = 'mixed.onnx';
export const PAGED_GRAPH_FILE = 'paged.onnx';
/** Weights, where they are not left in a file of the source's. */
export const WEIGHTS_FILE = `${GRAPH_FILE}.data`;

/** The source of decoder graphs, after inspection. */
export interface DecoderSource {
  /** What the graphs depend on besides the weights; becomes JSON. */
  readonly facts: unknown;
  /** Where the weights are if they are not written; null for a source that writes them. */
  readonly weightsFolder: string | null;
  /**
   * A string that is the same for two sources if and only if their weights are.
   * @param cacheDirectory where hashes of files are remembered
   */
  identity(cacheDirectory: string): Promise<string>;
  /** Writes all graphs to a folder. @param kvScales for a KV cache of int8 */
  write(
    folder: string,
    options: BuildOptions,
    kvScales: readonly LayerKvScales[] | undefined,
  ): Promise<Omit<DecoderManifest, 'formatVersion'>>;
}
