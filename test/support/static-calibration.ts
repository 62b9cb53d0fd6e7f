import type { ModelSource } from '../../src/model/build/model-source.ts';
import type { StaticCalibration } from '../../src/model/static/static-activations.ts';
import { calibrateActivations } from '../../src/optimize/calibration/calibrate-activations.ts';

/** How a model is calibrated for int8-static with a few texts: once, whatever builds it. */
export function calibrationWith(
  texts: readonly Int32Array[],
  source: ModelSource,
  cacheDirectory: string,
): StaticCalibration {
  const calibration = { texts, threads: 1, onProgress: () => {} };
  let found: ReturnType<typeof calibrateActivations> | undefined;
  return {
    key: 'a few texts',
    find: () => (found ??= calibrateActivations(source, { cacheDirectory }, calibration)),
  };
}
