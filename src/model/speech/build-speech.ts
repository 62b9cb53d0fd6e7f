import { join } from 'node:path';

import { cachedFolder, hashesOf } from '../build/cached-folder.ts';
import type { AlignmentShape } from './alignment-config.ts';
import { buildAlignmentGraph } from './alignment-graph.ts';
import type { SpeechPart } from './speech-folder.ts';
import { buildSpeechGraph } from './speech-graph.ts';

/** Raised whenever a graph changes, so that builds of older versions are not used. */
const FORMAT_VERSION = 1;

const GRAPH_FILE = 'speech.onnx';

/**
 * Builds the graph that makes embeddings of windows, or finds it built from the same weights. Several
 * processes may do this at once.
 * @param cacheDirectory where built models are kept, see defaultCacheDirectory
 * @returns the graph's path
 * @throws {ModelError} if the weights are damaged or not what the configuration says, or the disk is full
 */
export async function buildSpeech(
  { shape, files, open }: SpeechPart,
  cacheDirectory: string,
): Promise<string> {
  const hashes = await hashesOf(files, cacheDirectory);
  const facts = { FORMAT_VERSION, shape, hashes };
  const folder = await cachedFolder(cacheDirectory, 'speech', facts, async (into) => {
    const weights = await open();
    try {
      await buildSpeechGraph({ shape, weights }).write(join(into, GRAPH_FILE));
    } finally {
      await weights.close();
    }
  });
  return join(folder, GRAPH_FILE);
}

/**
 * The same for the graph that tells when the tokens of a text were said.
 * @throws {ModelError} as buildSpeech
 */
export async function buildAlignment(
  { files, openAsStored }: SpeechPart,
  shape: AlignmentShape,
  cacheDirectory: string,
): Promise<string> {
  const hashes = await hashesOf(files, cacheDirectory);
  const facts = { FORMAT_VERSION, shape, hashes };
  const folder = await cachedFolder(cacheDirectory, 'alignment', facts, async (into) => {
    const weights = await openAsStored();
    try {
      await buildAlignmentGraph({ shape, weights }).write(join(into, GRAPH_FILE));
    } finally {
      await weights.close();
    }
  });
  return join(folder, GRAPH_FILE);
}
