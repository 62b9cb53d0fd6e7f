/** How `--precision int8-static` finds the scales of activations when a model is built. */
import { join } from 'node:path';
import { usableCores } from '../../ort/usable-cores.ts';
import { meaningOf } from '../../files/system-error.ts';
import type { TextSource } from '../../front/prompts/load-text-model.ts';
import type { BuildOptions } from '../../model/build/build-options.ts';
import { contentHash } from '../../model/cache/content-hash.ts';
import type { Precision } from '../../model/manifest.ts';
import type { ModelSource } from '../../model/build/model-source.ts';
import { ModelError } from '../../model/model-error.ts';
import type {
  StaticActivations,
  StaticCalibration,
} from '../../model/static/static-activations.ts';
import { calibrationKey } from '../../optimize/calibration/calibration-key.ts';
import { readTokens } from './calibration-texts.ts';
import { withStepBars } from '../progress/progress-bar.ts';
import { UserError } from '../../user-error.ts';
import { UsageError } from '../../settings/usage-error.ts';

/** Texts of a file, and what reads them. */
export interface CalibrationFile {
  readonly path: string;
  readonly text: TextSource;
}

/**
 * Reads `--calibrate`; null where the model writes its own texts.
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
      await import('../../optimize/calibration/calibrate-activations.ts');
    const texts = file && (await readTokens(file.text, '--calibrate', file.path));
    return withStepBars((onProgress) =>
      calibrateActivations(source, build, { texts, threads: usableCores(), onProgress }),
    );
  };
  let found: Promise<StaticActivations> | undefined;
  return {
    key: calibrationKey(file && (await hashOf(file.path, index))),
    // A build with an int8 cache is calibrated with one without.
    find: () => (found ??= find()),
  };
}

/** @throws UserError naming the flag */
async function hashOf(path: string, index: string): Promise<string> {
  try {
    return await contentHash(path, index);
  } catch (error) {
    const cause = error instanceof ModelError ? error.cause : error;
    throw new UserError(`--calibrate ${path}: ${meaningOf(cause)}`, { cause: error });
  }
}
