import { type BuiltModel, PRECISIONS, type Precision } from '../../../src/model/manifest.ts';
import { defaultCacheDirectory } from '../../../src/model/cache/cache-directory.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { resolveKernels } from '../../../src/serving/choices/kernels.ts';

export const BENCH_MODEL = 'smollm2-135m';
export const BENCH_SEED = 1;

/** The kernels that a server takes for a precision; undefined for ONNX Runtime's. */
export async function benchKernels(
  precision: Precision,
  kernels: 'auto' | 'native' | 'onnxruntime' = 'auto',
) {
  const { nativeKernels } = await resolveKernels(
    { kernels, kvCacheDtype: 'auto' },
    { precision, activationDtype: 'float32', model: 'buildable', device: 'cpu' },
  );
  return nativeKernels;
}

/**
 * A model with the kernels that a server takes for it.
 * @param folder of it; null for the SmolLM2-135M shape with random weights
 */
export async function benchModel(
  precision: Precision,
  kernels: 'auto' | 'native' | 'onnxruntime' = 'auto',
  folder: string | null = null,
): Promise<BuiltModel> {
  const nativeKernels = await benchKernels(precision, kernels);
  return prepareModel(
    folder === null
      ? { kind: 'random', config: PRESETS[BENCH_MODEL], seed: BENCH_SEED }
      : { kind: 'folder', path: folder },
    { precision, nativeKernels, cacheDirectory: defaultCacheDirectory() },
  );
}

/** @throws Error for a flag's value that is none */
export function requirePrecision(name: string): Precision {
  const precision = PRECISIONS.find((each) => each === name);
  if (!precision) throw new Error(`--precision is one of ${PRECISIONS.join(', ')}`);
  return precision;
}

/** @throws Error for a flag's value that is none */
export function requireKernels(name: string): 'auto' | 'native' | 'onnxruntime' {
  if (name === 'auto' || name === 'native' || name === 'onnxruntime') return name;
  throw new Error('--kernels is auto, native or onnxruntime');
}
