import { usableCores } from '../../ort/usable-cores.ts';
import type { ModelSource } from '../../model/build/model-source.ts';
import { prepareModel } from '../../model/build/prepare-model.ts';
import type { BuildOptions } from '../../model/build/build-options.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import type { BuiltModel } from '../../model/manifest.ts';
import type { Options } from '../../settings/options.ts';
import { withProgressBar } from '../progress/progress-bar.ts';
import { type CalibrationFile, staticCalibration } from '../plan/static-calibration.ts';

/** Builds a model, or finds it built, with a progress bar on stderr while it takes time. */
export async function buildWithProgress(
  source: ModelSource,
  {
    precision,
    activationDtype = 'float32',
    maxModelLen,
    nativeKernels,
    maxAdapterRank,
    takesEmbeddings,
    predicts,
    calibrate = null,
  }: Pick<
    BuildOptions,
    | 'precision'
    | 'activationDtype'
    | 'maxModelLen'
    | 'nativeKernels'
    | 'maxAdapterRank'
    | 'takesEmbeddings'
    | 'predicts'
  > & {
    /** Texts for int8-static; the model writes its own if null or left out. */
    readonly calibrate?: CalibrationFile | null;
  },
  kvCacheDtype: Options['kvCacheDtype'],
): Promise<BuiltModel> {
  // Our own kernels find scales as they go.
  const calibrates = kvCacheDtype === 'int8' && !nativeKernels;
  const kvCalibration = calibrates ? await loadCalibration() : {};
  const cacheDirectory = defaultCacheDirectory();
  const build = { cacheDirectory, maxModelLen, threads: buildThreads };
  const activations =
    precision === 'int8-static' ? await staticCalibration(source, build, calibrate) : undefined;
  return withProgressBar('building the model', (onProgress) =>
    prepareModel(source, {
      ...build,
      precision,
      activationDtype,
      nativeKernels,
      maxAdapterRank,
      takesEmbeddings,
      predicts,
      ...kvCalibration,
      staticCalibration: activations,
      onProgress,
      onDamaged: (what) => console.error(`chairlift: ${what}: building it again`),
    }),
  );
}

/** Smaller models are built before threads for them have started. */
const THREADED_PARAMETERS = 50e6;

function buildThreads(numParameters: number): number {
  return numParameters < THREADED_PARAMETERS ? 1 : usableCores();
}

/** Not a static import: it brings ONNX Runtime into a process that otherwise does without. */
async function loadCalibration() {
  const { calibrateKv } = await import('../../engine/cpu/kv-calibration.ts');
  return { calibrateKv };
}
