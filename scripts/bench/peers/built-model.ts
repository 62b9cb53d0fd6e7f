import type { BuildOptions } from '../../../src/model/build/build-options.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../../src/model/cache/cache-directory.ts';
import type { BuiltModel, Precision } from '../../../src/model/manifest.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { resolveKernels } from '../../../src/serving/choices/kernels.ts';
import type { Setup } from './contender.ts';

/** The shape as Chairlift serves it: with its own kernels, where there are any. */
export async function servedModel(setup: Setup, precision: Precision): Promise<BuiltModel> {
  const { nativeKernels } = await resolveKernels(
    { kernels: 'auto', kvCacheDtype: 'auto' },
    { precision, activationDtype: 'float32', model: 'buildable', device: 'cpu' },
  );
  return build(setup, { precision, ...(nativeKernels && { nativeKernels }) });
}

/** The shape with ONNX Runtime's operators alone, which its other users can run too. */
export function portableModel(setup: Setup, precision: Precision): Promise<BuiltModel> {
  return build(setup, { precision });
}

function build(
  { preset, seed, gguf }: Setup,
  options: Pick<BuildOptions, 'precision' | 'nativeKernels'>,
): Promise<BuiltModel> {
  return prepareModel(
    gguf === null
      ? { kind: 'random', config: PRESETS[preset], seed }
      : { kind: 'folder', path: gguf },
    { ...options, cacheDirectory: defaultCacheDirectory() },
  );
}
