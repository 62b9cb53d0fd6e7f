/** How `--precision int8-static` finds the scales of activations when a model is built. */
import { join } from 'node:path';
import { usableCores } from '../engine/cpu/usable-cores.ts';
import type { TextSource } from '../front/text/load-text-model.ts';
import type { BuildOptions } from '../model/build/build-options.ts';
import { contentHash } from '../model/build/content-hash.ts';
import type { Precision } from '../model/build/manifest.ts';
import type { ModelSource } from '../model/build/model-source.ts';
import type { StaticActivations, StaticCalibration } from '../model/static/static-activations.ts';
import { calibrationKey } from '../optimize/calibration/calibration-key.ts';
import { readTokens } from './calibration-texts.ts';
import { withStepBars } from './progress-bar.ts';
import { UsageError } from './usage-error.ts';

/** Texts of a file, and what reads them. */
export interface CalibrationFile {
  readonly path: string;
  readonly text: TextSource;
}

/**
 * What `--calibrate` means; null where the model writes its own texts.
 * @throws UsageError for a precision that is not calibrated
 */
export function calibrationFile(
  path: string | undefined,
  precisions: readonly Precision[],
  text: TextSource,
): CalibrationFile | null {
  if (path === undefined) return null;
  if (precisions.includes('int8-static')) return { path, text };
  throw new UsageError(
    `--calibrate is for --precision int8-static, not for ${precisions.join(', ')}`,
  );
}

/** @param file of texts; null has the model write its own */
export async function staticCalibration(
  source: ModelSource,
  build: Pick<BuildOptions, 'cacheDirectory' | 'maxModelLen' | 'threads'>,
  file: CalibrationFile | null,
): Promise<StaticCalibration> {
  const index = join(build.cacheDirectory, 'content-hashes');
  const find = async () => {
    // Not a static import: it brings ONNX Runtime into a process that otherwise does without.
    const { calibrateActivations } =
      await import('../optimize/calibration/calibrate-activations.ts');
    const texts = file && (await readTokens(file.text, file.path));
    return withStepBars((onProgress) =>
      calibrateActivations(source, build, { texts, threads: usableCores(), onProgress }),
    );
  };
  let found: Promise<StaticActivations> | undefined;
  return {
    key: calibrationKey(file && (await contentHash(file.path, index))),
    // A build with an int8 cache is calibrated with one without.
    find: () => (found ??= find()),
  };
}
