import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../../src/model/build/cache-directory.ts';
import type { BuiltModel, Precision } from '../../../src/model/build/manifest.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import type { Setup } from './contender.ts';

/** Chairlift's own graph of the shape. */
export function builtModel({ preset, seed }: Setup, precision: Precision): Promise<BuiltModel> {
  return prepareModel(
    { kind: 'random', config: PRESETS[preset], seed },
    { precision, cacheDirectory: defaultCacheDirectory() },
  );
}
