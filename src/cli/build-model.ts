import { SingleBar, Presets } from 'cli-progress';
import { type BuildOptions, type ModelSource, prepareModel } from '../model/build.ts';
import { defaultCacheDirectory } from '../model/cache-directory.ts';
import type { BuiltModel } from '../model/manifest.ts';
import type { Options } from './options.ts';

/** Builds a model, or finds it built, with a progress bar on stderr while it takes time. */
export async function buildWithProgress(
  source: ModelSource,
  { precision, activationDtype = 'float32' }: Pick<BuildOptions, 'precision' | 'activationDtype'>,
  kvCacheDtype: Options['kvCacheDtype'],
): Promise<BuiltModel> {
  const calibration = kvCacheDtype === 'int8' ? await loadCalibration() : {};
  const bar = new SingleBar(
    {
      format: 'building the model |{bar}| {percentage}% {value}/{total} MiB',
      // Without a terminal, a line now and then.
      noTTYOutput: true,
      notTTYSchedule: 5000,
      hideCursor: true,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  try {
    return await prepareModel(source, {
      precision,
      activationDtype,
      cacheDirectory: defaultCacheDirectory(),
      ...calibration,
      onProgress(done, total) {
        if (!started) bar.start(toMebibytes(total), 0);
        started = true;
        bar.update(toMebibytes(done));
      },
    });
  } finally {
    if (started) bar.stop();
  }
}

/** Not a static import: it brings ONNX Runtime into a process that otherwise does without. */
async function loadCalibration() {
  const { calibrateKv } = await import('../engine/kv-calibration.ts');
  return { calibrateKv };
}

function toMebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
