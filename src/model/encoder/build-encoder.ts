import { join } from 'node:path';

import { cachedFolder, hashesOf } from '../build/cached-folder.ts';
import { SafetensorsWeights } from '../huggingface/safetensors.ts';
import { buildEncoderGraph } from './encoder-graph.ts';
import type { EncoderConfig } from './encoder-shape.ts';
import { encoderWeights } from './encoder-weights.ts';
import type { EncoderFolder, EncoderGraphSource } from './encoder-folder.ts';
import { type EncoderBuildOptions, writeEncoder } from './write-encoder.ts';

/** Raised whenever the graph changes, so that builds of older versions are not used. */
const FORMAT_VERSION = 3;

const GRAPH_FILE = 'encoder.onnx';

/** An encoder folder whose graph is built from weights. */
export interface BuildableEncoder extends Pick<EncoderFolder, 'modules'> {
  readonly graph: Extract<EncoderGraphSource, { type: 'weights' }>;
}

/**
 * Builds an encoder's graph, or finds it built from the same weights. Several processes may do this at
 * once.
 * @returns the graph's path
 * @throws {ModelError} if the weights are damaged or not what the configuration says, or the disk is full
 */
export async function buildEncoder(
  { graph: { config, files }, modules: head }: BuildableEncoder,
  { precision, cacheDirectory, calibrate }: EncoderBuildOptions<EncoderConfig>,
): Promise<string> {
  const { pooling, dense, normalize } = head;
  const hashes = await hashesOf([...files, ...dense.map(({ file }) => file)], cacheDirectory);
  const shapes = dense.map(({ file: _file, ...shape }) => shape);
  const facts = { FORMAT_VERSION, precision, config, hashes, pooling, shapes, normalize };
  const folder = await cachedFolder(cacheDirectory, 'encoders', facts, async (into) => {
    const checkpoint = await SafetensorsWeights.open(files);
    try {
      const common = { config, weights: encoderWeights(checkpoint), head };
      await writeEncoder(
        into,
        GRAPH_FILE,
        precision,
        (variant) => buildEncoderGraph({ ...common, ...variant }),
        (graphPath) => calibrate(graphPath, config),
      );
    } finally {
      await checkpoint.close();
    }
  });
  return join(folder, GRAPH_FILE);
}
