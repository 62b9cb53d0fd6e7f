import type { BuiltModel, Precision } from '../../../src/model/manifest.ts';
import { defaultCacheDirectory } from '../../../src/model/cache/cache-directory.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { resolveKernels } from '../../../src/serving/choices/kernels.ts';

export const BENCH_MODEL = 'smollm2-135m';
export const BENCH_SEED = 1;

/** The SmolLM2-135M shape (random weights), with the kernels that a server takes for it. */
export async function benchModel(
  precision: Precision,
  kernels: 'auto' | 'native' | 'onnxruntime' = 'auto',
): Promise<BuiltModel> {
  const { nativeKernels } = await resolveKernels(
    { kernels, kvCacheDtype: 'auto' },
    { precision, activationDtype: 'float32', model: 'buildable', device: 'cpu' },
  );
  return prepareModel(
    { kind: 'random', config: PRESETS[BENCH_MODEL], seed: BENCH_SEED },
    { precision, nativeKernels, cacheDirectory: defaultCacheDirectory() },
  );
}

/** @throws Error for a flag's value that is none */
export function requireKernels(name: string): 'auto' | 'native' | 'onnxruntime' {
  if (name === 'auto' || name === 'native' || name === 'onnxruntime') return name;
  throw new Error('--kernels is auto, native or onnxruntime');
}
