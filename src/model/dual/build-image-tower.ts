import { join } from 'node:path';
import { cachedFolder, hashesOf } from '../build/cached-folder.ts';
import { type EncoderBuildOptions, writeEncoder } from '../encoder/write-encoder.ts';
import { SafetensorsWeights } from '../huggingface/safetensors.ts';
import type { ImageShape } from './dual-config.ts';
import type { DualImages } from './dual-folder.ts';
import { buildImageGraph, imageWeights } from './image-graph.ts';

/** Raised whenever the graph changes, so that builds of older versions are not used. */
const FORMAT_VERSION = 1;

const GRAPH_FILE = 'images.onnx';

/**
 * Builds the graph that makes vectors of images, or finds it built from the same weights. Several processes
 * may do this at once.
 * @returns the graph's path
 * @throws {ModelError} if the weights are damaged or not what the configuration says, or the disk is full
 */
export async function buildImageTower(
  { config: { shape }, files }: DualImages,
  { precision, cacheDirectory, calibrate }: EncoderBuildOptions<ImageShape>,
): Promise<string> {
  const facts = { FORMAT_VERSION, precision, shape, hashes: await hashesOf(files, cacheDirectory) };
  const folder = await cachedFolder(cacheDirectory, 'encoders', facts, async (into) => {
    const checkpoint = await SafetensorsWeights.open(files);
    const common = { shape, weights: imageWeights(checkpoint) };
    try {
      await writeEncoder(
        into,
        GRAPH_FILE,
        precision,
        async (variant) => buildImageGraph({ ...common, ...variant }),
        (graphPath) => calibrate(graphPath, shape),
      );
    } finally {
      await checkpoint.close();
    }
  });
  return join(folder, GRAPH_FILE);
}
