import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { BuildOptions } from './build-options.ts';
import { folderSource, randomSource } from './built-source.ts';
import { parseDecoderConfig } from './config.ts';
import { sha256 } from './content-hash.ts';
import {
  type DecoderSource,
  GRAPH_FILE,
  MIXED_GRAPH_FILE,
  PAGED_GRAPH_FILE,
  WEIGHTS_FILE,
} from './decoder-source.ts';
import { ModelError } from './errors.ts';
import { exportSource } from './export-source.ts';
import { fileExists } from './file-exists.ts';
import type { LayerKvScales } from './kv-scales.ts';
import type { BuiltModel } from './manifest.ts';
import { readManifest, writeManifest } from './manifest-file.ts';
import { inspectModelFolder } from './model-folder.ts';
import { createStagingDirectory, publish, removeStaleStaging } from './staging.ts';

/** Raised whenever the graph changes, so that builds of older versions are not used. */
const FORMAT_VERSION = 12;

/** What to build: a model folder, or a shape (a parsed config.json) with random weights. */
export type ModelSource =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'random'; readonly config: unknown; readonly seed: number };

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
  const kvCacheDtype = calibrateKv ? 'int8' : activationDtype;
  const weights = await resolved.identity();
  const config = resolved.facts;
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
  const file = async (name: string) => {
    const path = join(finalPath, name);
    return (await fileExists(path)) ? path : null;
  };
  return {
    graphPath: join(finalPath, GRAPH_FILE),
    mixedGraphPath: join(finalPath, MIXED_GRAPH_FILE),
    pagedGraphPath: await file(PAGED_GRAPH_FILE),
    weightsFolder: (await file(WEIGHTS_FILE)) ? finalPath : (resolved.weightsFolder ?? finalPath),
    manifest: await readManifest(finalPath),
  };
}

async function kvScalesFor(
  source: ModelSource,
  { calibrateKv, ...options }: BuildOptions,
): Promise<readonly LayerKvScales[] | undefined> {
  return calibrateKv?.(await prepareModel(source, options));
}

async function resolveSource(source: ModelSource, options: BuildOptions): Promise<DecoderSource> {
  const { maxModelLen } = options;
  if (source.kind === 'random') {
    return randomSource(
      parseDecoderConfig(source.config, 'the configuration', maxModelLen),
      source.seed,
    );
  }
  const folder = await inspectModelFolder(source.path, maxModelLen);
  return folder.kind === 'export'
    ? exportSource(folder, options)
    : folderSource(folder, options.cacheDirectory);
}

async function buildInto(
  finalPath: string,
  source: DecoderSource,
  identity: string,
  options: BuildOptions,
  kvScales: readonly LayerKvScales[] | undefined,
): Promise<void> {
  const staging = await createStagingDirectory(finalPath);
  try {
    const manifest = await source.write(staging, options, kvScales);
    await writeManifest(staging, { formatVersion: FORMAT_VERSION, ...manifest });
    if ((await source.identity()) !== identity) {
      throw new ModelError('the weights changed while the model was being built: start again');
    }
    await publish(staging, finalPath, isUsable);
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

/** Whether a build folder is there and complete. */
async function isUsable(folder: string): Promise<boolean> {
  try {
    const { formatVersion } = await readManifest(folder);
    return formatVersion === FORMAT_VERSION && (await fileExists(join(folder, GRAPH_FILE)));
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
