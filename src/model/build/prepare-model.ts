import { rm } from 'node:fs/promises';
import { join } from 'node:path';

import type { BuildOptions } from './build-options.ts';
import { findDamage, writeContents } from './build-contents.ts';
import { builtSource } from './built-source.ts';
import { writingToCache } from '../cache/cache-error.ts';
import { sha256 } from '../cache/content-hash.ts';
import {
  type Calibrated,
  type DecoderSource,
  GRAPH_FILE,
  MIXED_GRAPH_FILE,
  PAGED_GRAPH_FILE,
  PREDICTION_GRAPH_FILE,
  WEIGHTS_FILE,
} from './decoder-source.ts';
import { ModelError } from '../model-error.ts';
import { exportSource } from './export-source.ts';
import { fileExists } from '../../files/file-exists.ts';
import { type BuiltModel, NATIVE_PRECISIONS } from '../manifest.ts';
import { readManifest, writeManifest } from './manifest-file.ts';
import { inspectSource, type ModelSource } from './model-source.ts';
import { createStagingDirectory, discard, publish, removeStaleStaging } from './staging.ts';

/** Raised whenever the graph changes, or what its cache holds, so that nothing of older versions is used. */
const FORMAT_VERSION = 22;

/**
 * Builds a model's decoder graph, or finds it already built from the same configuration, weights
 * and options. Several processes may do this at once.
 * @throws {ModelError} if the model is missing, damaged or not supported, or the disk is full
 * @throws {RangeError} if there are no graphs of that precision in float16, with native kernels, adapters
 *   or embeddings, or int8-static has no calibration
 */
export async function prepareModel(
  source: ModelSource,
  options: BuildOptions,
): Promise<BuiltModel> {
  const { precision, activationDtype = 'float32', calibrateKv, nativeKernels } = options;
  const { maxAdapterRank, takesEmbeddings, staticCalibration, predicts } = options;
  const hasHalf = (precision === 'fp16' || precision === 'int4') && !calibrateKv;
  if (activationDtype === 'float16' && !hasHalf) {
    throw new RangeError('graphs in float16 have weights of fp16 or int4, and a cache of float16');
  }
  const hasNative = precision !== 'fp32' && precision !== 'fp16' && !calibrateKv;
  if (nativeKernels && (!hasNative || activationDtype !== 'float32')) {
    throw new RangeError('graphs of native kernels have weights of int8 or int4, in float32');
  }
  if (takesEmbeddings && activationDtype !== 'float32') {
    throw new RangeError('graphs that take embeddings compute in float32');
  }
  if (NATIVE_PRECISIONS.has(precision) && !nativeKernels) {
    throw new RangeError(`${precision} is computed by native kernels alone`);
  }
  if ((precision === 'int8-static') !== (staticCalibration !== undefined)) {
    throw new RangeError('int8-static has a calibration, and no other precision has one');
  }
  if (maxAdapterRank !== undefined && staticCalibration) {
    throw new RangeError('adapters do not read activations that int8-static has smoothed');
  }
  if (maxAdapterRank !== undefined && activationDtype !== 'float32') {
    throw new RangeError('adapters are added in float32');
  }
  if (predicts && (activationDtype !== 'float32' || calibrateKv || staticCalibration)) {
    throw new RangeError('multi-token prediction takes float32, and no calibration');
  }
  const resolved = await resolveSource(source, options);
  const kvCacheDtype =
    nativeKernels?.kvCacheDtype ?? (calibrateKv ? ('int8' as const) : activationDtype);
  const kernels = nativeKernels ? 'native' : 'onnxruntime';
  const weights = await resolved.identity(options.cacheDirectory);
  const config = resolved.facts;
  const formats = { precision, activationDtype, kvCacheDtype, kernels };
  const calibration = staticCalibration?.key;
  const facts = { FORMAT_VERSION, ...formats, calibration, config, weights };
  // Older builds of such models have manifests without their windows.
  const { slidingWindows } = resolved;
  const seen = { takesEmbeddings: takesEmbeddings || undefined, slidingWindows };
  const inputs = { maxAdapterRank, ...seen, predicts: predicts || undefined };
  const key = sha256(JSON.stringify({ ...facts, ...inputs }));
  const builds = join(options.cacheDirectory, 'models');
  const finalPath = join(builds, key);
  const isThere = await fileExists(finalPath);
  const damage = isThere ? await findDamage(finalPath, resolved.weightsFolder) : null;
  if (!isThere || damage !== null) {
    if (damage !== null) options.onDamaged?.(`${finalPath} is damaged, ${damage}`);
    const calibrated = await calibrate(source, options);
    await writingToCache(options.cacheDirectory, 'the built model', async () => {
      await removeStaleStaging(builds);
      if (damage !== null) await discard(finalPath, usableWith(resolved));
      await buildInto(finalPath, resolved, weights, options, calibrated);
    });
  }
  const file = async (name: string) => {
    const path = join(finalPath, name);
    return (await fileExists(path)) ? path : null;
  };
  return {
    contentId: sha256(JSON.stringify(facts)),
    graphPath: join(finalPath, GRAPH_FILE),
    mixedGraphPath: join(finalPath, MIXED_GRAPH_FILE),
    pagedGraphPath: await file(PAGED_GRAPH_FILE),
    predictionGraphPath: await file(PREDICTION_GRAPH_FILE),
    weightsFolder: (await file(WEIGHTS_FILE)) ? finalPath : (resolved.weightsFolder ?? finalPath),
    manifest: await readManifest(finalPath),
  };
}

async function calibrate(
  source: ModelSource,
  { calibrateKv, ...options }: BuildOptions,
): Promise<Calibrated> {
  return {
    kvScales: await calibrateKv?.(await prepareModel(source, options)),
    activations: await options.staticCalibration?.find(),
  };
}

async function resolveSource(source: ModelSource, options: BuildOptions): Promise<DecoderSource> {
  const model = await inspectSource(source, options.maxModelLen);
  if (model.kind !== 'export') return builtSource(model, source);
  if (options.predicts) {
    throw new ModelError(`${model.path} is an ONNX export, without multi-token prediction`);
  }
  return exportSource(model, options);
}

async function buildInto(
  finalPath: string,
  source: DecoderSource,
  identity: string,
  options: BuildOptions,
  calibrated: Calibrated,
): Promise<void> {
  const staging = await createStagingDirectory(finalPath);
  try {
    const manifest = await source.write(staging, options, calibrated);
    await writeManifest(staging, { formatVersion: FORMAT_VERSION, ...manifest });
    if ((await source.identity(options.cacheDirectory)) !== identity) {
      throw new ModelError('the weights changed while the model was being built: start again');
    }
    await writeContents(staging, source.weightsFolder);
    await publish(staging, finalPath, usableWith(source));
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    throw error;
  }
}

/** Whether a build folder is there and whole. */
function usableWith({ weightsFolder }: DecoderSource): (folder: string) => Promise<boolean> {
  return async (folder) => (await findDamage(folder, weightsFolder)) === null;
}
