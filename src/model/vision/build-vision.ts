import { join } from 'node:path';

import { cachedFolder, hashesOf } from '../build/cached-folder.ts';
import { type EncoderBuildOptions, writeEncoder } from '../encoder/write-encoder.ts';
import { buildGridGraph } from './grid-graph.ts';
import type { VisionPart, VisionShape } from './vision-part.ts';
import { buildVisionGraph } from './vision-graph.ts';

/** Raised whenever the graph changes, so that builds of older versions are not used. */
const FORMAT_VERSION = 1;

const GRAPH_FILE = 'vision.onnx';

/**
 * Builds the graph that makes embeddings of tiles, or finds it built from the same weights. Several
 * processes may do this at once.
 * @returns the graph's path
 * @throws {ModelError} if the weights are damaged or not what the configuration says, or the disk is full
 */
export async function buildVision(
  { config: { shape }, files, open }: VisionPart,
  { precision, cacheDirectory, calibrate }: EncoderBuildOptions<VisionShape>,
): Promise<string> {
  const hashes = await hashesOf(files, cacheDirectory);
  const facts = { FORMAT_VERSION, precision, shape, hashes };
  const folder = await cachedFolder(cacheDirectory, 'vision', facts, async (into) => {
    const weights = await open();
    try {
      await writeEncoder(
        into,
        GRAPH_FILE,
        precision,
        async (variant) =>
          shape.kind === 'grid'
            ? buildGridGraph({ shape, weights, ...variant })
            : buildVisionGraph({ shape, weights, ...variant }),
        (graphPath) => calibrate(graphPath, shape),
      );
    } finally {
      await weights.close();
    }
  });
  return join(folder, GRAPH_FILE);
}
