import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { calibrateKv } from '../../src/engine/cpu/kv-calibration.ts';
import type { ModelSource } from '../../src/model/build/model-source.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { BuildOptions } from '../../src/model/build/build-options.ts';
import type { BuiltModel, KernelSet, KvCacheDtype, Precision } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';

export interface BuiltModels {
  /** One of the embedded models, built at first use. */
  get(
    name: string,
    kvCacheDtype?: KvCacheDtype,
    precision?: Precision,
    kernels?: KernelSet,
  ): Promise<BuiltModel>;
  /** Arguments of `prepareModel` for a small shape. */
  readonly randomTiny: [ModelSource, BuildOptions];
  remove(): Promise<void>;
}

/** Models built into a temporary cache. */
export async function builtModels(): Promise<BuiltModels> {
  const cacheDirectory = await mkdtemp(join(tmpdir(), 'chairlift-test-'));
  const options: BuildOptions = { precision: 'fp32', cacheDirectory };
  return {
    get: (name, kvCacheDtype = 'float32', precision = 'fp32', kernels = 'onnxruntime') =>
      prepareModel(
        { kind: 'folder', path: `models/${name}` },
        { ...options, precision, ...kernelOptions(kernels, kvCacheDtype) },
      ),
    randomTiny: [{ kind: 'random', config: PRESETS.tiny, seed: 1 }, options],
    remove: () => rm(cacheDirectory, { recursive: true, force: true }),
  };
}

function kernelOptions(kernels: KernelSet, kvCacheDtype: KvCacheDtype): Partial<BuildOptions> {
  if (kernels === 'native') return { nativeKernels: { kvCacheDtype } };
  return kvCacheDtype === 'int8' ? { calibrateKv } : {};
}
