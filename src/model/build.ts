import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { parseDecoderConfig, type DecoderConfig } from './config.ts';
import { contentHash, sha256 } from './content-hash.ts';
import {
  buildDecoderGraph,
  buildMixedGraph,
  buildPagedGraph,
  type NumberFormats,
} from './decoder-graph.ts';
import { ModelError } from './errors.ts';
import type {
  ActivationDtype,
  BuiltModel,
  DecoderManifest,
  KvCacheDtype,
  Precision,
} from './manifest.ts';
import type { LayerKvScales } from './kv-scales.ts';
import { readManifest, writeManifest } from './manifest-file.ts';
import { inspectModelFolder, type HuggingFaceFolder } from './model-folder.ts';
import { countParameters } from './parameter-count.ts';
import { RandomWeights } from './random-weights.ts';
import { SafetensorsWeights } from './safetensors.ts';
import { createStagingDirectory, publish, removeStaleStaging } from './staging.ts';
import type { WeightSource } from './weights.ts';

/** Raised whenever the graph changes, so that builds of older versions are not used. */
const FORMAT_VERSION = 11;

const GRAPH_FILE = 'decoder.onnx';
const MIXED_GRAPH_FILE = 'mixed.onnx';
const PAGED_GRAPH_FILE = 'paged.onnx';

/** What to build: a model folder, or a shape (a parsed config.json) with random weights. */
export type ModelSource =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'random'; readonly config: unknown; readonly seed: number };

export interface BuildOptions {
  readonly precision: Precision;
  /** What the decoder computes in: float16 is for GPUs, with fp16 and int4 weights. */
  readonly activationDtype?: ActivationDtype;
  /** Where built models are kept, see defaultCacheDirectory. */
  readonly cacheDirectory: string;
  /**
   * Longest sequence that will be computed, in tokens, on which the rotary frequencies of some models
   * depend; the longest possible if left out.
   */
  readonly maxModelLen?: number | undefined;
  /** Called while building: bytes written, bytes in all, and the weight just written. */
  readonly onProgress?: (done: number, total: number, label: string) => void;
  /**
   * Makes the KV cache int8: finds its scales, layer by layer, with a build of the same model whose
   * cache is float32. The cache is what the activations are if left out.
   */
  readonly calibrateKv?: (model: BuiltModel) => Promise<readonly LayerKvScales[]>;
}

/** A source, looked into. */
interface ResolvedSource {
  readonly config: DecoderConfig;
  /** A string that is the same for two sources if and only if their weights are. */
  readonly identity: () => Promise<string>;
  readonly open: () => Promise<WeightSource>;
}

/**
 * Builds a model's decoder graph, or finds it already built from the same configuration, weights
 * and options. Several processes may do this at once.
 * @throws {ModelError} if the model is missing, damaged or not supported, or the disk is full
 * @throws {RangeError} if there are no graphs of that precision in float16
 */
export async function prepareModel(
  source: ModelSource,
  options: BuildOptions,
): Promise<BuiltModel> {
  const { precision, activationDtype = 'float32', calibrateKv } = options;
  const hasHalf = (precision === 'fp16' || precision === 'int4') && !calibrateKv;
  if (activationDtype === 'float16' && !hasHalf) {
    throw new RangeError('graphs in float16 have weights of fp16 or int4, and a cache of float16');
  }
  const resolved = await resolveSource(source, options);
  const { config } = resolved;
  const kvCacheDtype = kvCacheDtypeOf(options);
  const weights = await resolved.identity();
  const facts = { FORMAT_VERSION, precision, activationDtype, kvCacheDtype, config, weights };
  const key = sha256(JSON.stringify(facts));
  const builds = join(options.cacheDirectory, 'models');
  const finalPath = join(builds, key);
  if (!(await isUsable(finalPath))) {
    const kvScales = await kvScalesFor(source, options);
    await removeStaleStaging(builds);
    try {
      await buildInto(finalPath, resolved, weights, options, kvScales);
    } catch (error) {
      throw explain(error, options.cacheDirectory);
    }
  }
  return {
    graphPath: join(finalPath, GRAPH_FILE),
    mixedGraphPath: join(finalPath, MIXED_GRAPH_FILE),
    pagedGraphPath: activationDtype === 'float16' ? join(finalPath, PAGED_GRAPH_FILE) : null,
    manifest: await readManifest(finalPath),
  };
}

function kvCacheDtypeOf({ calibrateKv, activationDtype = 'float32' }: BuildOptions): KvCacheDtype {
  return calibrateKv ? 'int8' : activationDtype;
}

async function kvScalesFor(
  source: ModelSource,
  { calibrateKv, ...options }: BuildOptions,
): Promise<readonly LayerKvScales[] | undefined> {
  return calibrateKv?.(await prepareModel(source, options));
}

async function resolveSource(
  source: ModelSource,
  { cacheDirectory, maxModelLen }: BuildOptions,
): Promise<ResolvedSource> {
  if (source.kind === 'folder') {
    return resolveFolder(await inspectModelFolder(source.path, maxModelLen), cacheDirectory);
  }
  return {
    config: parseDecoderConfig(source.config, 'the configuration', maxModelLen),
    identity: async () => `random ${source.seed}`,
    open: async () => new RandomWeights(source.seed),
  };
}

function resolveFolder(folder: HuggingFaceFolder, cacheDirectory: string): ResolvedSource {
  const { config, weightFiles } = folder;
  const index = join(cacheDirectory, 'content-hashes');
  return {
    config,
    identity: async () => {
      const hashes: string[] = [];
      for (const file of weightFiles) {
        hashes.push(await contentHash(file, index));
      }
      return hashes.join(' ');
    },
    open: () => SafetensorsWeights.open(weightFiles),
  };
}

async function buildInto(
  finalPath: string,
  source: ResolvedSource,
  identity: string,
  options: BuildOptions,
  kvScales: readonly LayerKvScales[] | undefined,
): Promise<void> {
  const staging = await createStagingDirectory(finalPath);
  try {
    await writeBuild(staging, source, options, kvScales);
    if ((await source.identity()) !== identity) {
      throw new ModelError('the weights changed while the model was being built: start again');
    }
    await publish(staging, finalPath, isUsable);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

async function writeBuild(
  folder: string,
  { config, open }: ResolvedSource,
  options: BuildOptions,
  kvScales: readonly LayerKvScales[] | undefined,
): Promise<void> {
  const { precision, activationDtype = 'float32', onProgress } = options;
  const formats: NumberFormats = { precision, activationDtype, kvScales };
  const weights = await open();
  try {
    const graph = buildDecoderGraph(config, weights, formats);
    const data = await graph.write(join(folder, GRAPH_FILE), onProgress);
    const mixed = buildMixedGraph(config, weights, formats);
    await mixed.writeSharing(data, join(folder, MIXED_GRAPH_FILE));
    if (activationDtype === 'float16') {
      const paged = buildPagedGraph(config, weights, formats);
      await paged.writeSharing(data, join(folder, PAGED_GRAPH_FILE));
    }
  } finally {
    await weights.close();
  }
  const manifest: DecoderManifest = {
    formatVersion: FORMAT_VERSION,
    family: config.family.modelType,
    precision,
    activationDtype,
    kvCacheDtype: kvCacheDtypeOf(options),
    numLayers: config.numLayers,
    numKvHeads: config.numKvHeads,
    headDim: config.headDim,
    vocabSize: config.vocabSize,
    maxPositionEmbeddings: config.maxPositionEmbeddings,
    numParameters: countParameters(config),
  };
  await writeManifest(folder, manifest);
}

/** Whether a build folder is there and complete. */
async function isUsable(folder: string): Promise<boolean> {
  try {
    const { formatVersion } = await readManifest(folder);
    await stat(join(folder, GRAPH_FILE));
    return formatVersion === FORMAT_VERSION;
  } catch {
    return false;
  }
}

function explain(error: unknown, cacheDirectory: string): unknown {
  if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') {
    return new ModelError(
      `the disk is full: the built model does not fit into ${cacheDirectory} ` +
        '(set CHAIRLIFT_CACHE to a folder on another disk)',
      { cause: error },
    );
  }
  return error;
}
