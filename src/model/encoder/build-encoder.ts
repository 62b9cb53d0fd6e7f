import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import { findDamage, writeContents } from '../build/build-contents.ts';
import { writingToCache } from '../cache/cache-error.ts';
import { contentHash, sha256 } from '../cache/content-hash.ts';
import { fileExists } from '../../files/file-exists.ts';
import { createStagingDirectory, discard, publish, removeStaleStaging } from '../build/staging.ts';
import { SafetensorsWeights } from '../huggingface/safetensors.ts';
import { type BertGraphOptions, buildBertGraph, type EncoderPrecision } from './bert-graph.ts';
import { bertWeights } from './bert-weights.ts';
import type { BertConfig } from './encoder-config.ts';
import type { ChannelReaches } from './smoothing.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import type { EncoderFolder, EncoderGraphSource } from './encoder-folder.ts';

/** Raised whenever the graph changes, so that builds of older versions are not used. */
const FORMAT_VERSION = 2;

const GRAPH_FILE = 'encoder.onnx';
/** With outputs to calibrate by; it does not stay. */
const SHOWING_FILE = 'showing.onnx';

/**
 * Finds out how large the channels of a model's normalizations get.
 * @param graphPath of a graph that shows them, see BertGraphOptions
 */
export type CalibrateEncoder = (graphPath: string, config: BertConfig) => ChannelReaches;

export interface EncoderBuildOptions {
  readonly precision: EncoderPrecision;
  /** Where built models are kept, see defaultCacheDirectory. */
  readonly cacheDirectory: string;
  /** For int8. */
  readonly calibrate: CalibrateEncoder;
}

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
  encoder: BuildableEncoder,
  options: EncoderBuildOptions,
): Promise<string> {
  const { precision, cacheDirectory } = options;
  const { graph, modules } = encoder;
  const { pooling, dense, normalize } = modules;
  const index = join(cacheDirectory, 'content-hashes');
  const hashes: string[] = [];
  const files = [...graph.files, ...dense.map(({ file }) => file)];
  for (const file of files) hashes.push(await contentHash(file, index));
  const shapes = dense.map(({ file: _file, ...shape }) => shape);
  const facts = {
    FORMAT_VERSION,
    precision,
    config: graph.config,
    hashes,
    pooling,
    shapes,
    normalize,
  };
  const builds = join(cacheDirectory, 'encoders');
  const path = join(builds, sha256(JSON.stringify(facts)));
  if (!(await isUsable(path))) {
    await writingToCache(cacheDirectory, 'the built model', async () => {
      await removeStaleStaging(builds);
      if (await fileExists(path)) await discard(path, isUsable);
      await buildInto(path, encoder, options);
    });
  }
  return join(path, GRAPH_FILE);
}

async function buildInto(
  path: string,
  encoder: BuildableEncoder,
  options: EncoderBuildOptions,
): Promise<void> {
  const staging = await createStagingDirectory(path);
  try {
    const checkpoint = await SafetensorsWeights.open(encoder.graph.files);
    try {
      await writeGraph(staging, encoder, bertWeights(checkpoint), options);
    } finally {
      await checkpoint.close();
    }
    await writeContents(staging, null);
    await publish(staging, path, isUsable);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

async function writeGraph(
  folder: string,
  { graph: { config }, modules: head }: BuildableEncoder,
  weights: WeightSource,
  { precision, calibrate }: EncoderBuildOptions,
): Promise<void> {
  const common = { config, weights, head };
  const write = async (name: string, of: Partial<BertGraphOptions>) => {
    const graph = await buildBertGraph({ ...common, precision, ...of });
    await graph.write(join(folder, name));
  };
  if (precision === 'fp32') return write(GRAPH_FILE, {});
  await write(SHOWING_FILE, { precision: 'fp32', showsNorms: true });
  const reaches = calibrate(join(folder, SHOWING_FILE), config);
  for (const end of ['', '.data']) await rm(join(folder, `${SHOWING_FILE}${end}`));
  await write(GRAPH_FILE, { reaches });
}

async function isUsable(path: string): Promise<boolean> {
  return (await fileExists(path)) && (await findDamage(path, null)) === null;
}
