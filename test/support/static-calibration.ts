import type { ModelSource } from '../../src/model/build/model-source.ts';
import type { StaticCalibration } from '../../src/model/static/static-activations.ts';
import { calibrateActivations } from '../../src/optimize/calibration/calibrate-activations.ts';
import { calibrationKey } from '../../src/optimize/calibration/calibration-key.ts';

/** How a model is calibrated for int8-static with texts that it writes itself. */
export function ownCalibration(source: ModelSource, cacheDirectory: string): StaticCalibration {
  return {
    key: calibrationKey(null),
    find: () =>
      calibrateActivations(
        source,
        { cacheDirectory },
        { texts: null, threads: 2, onProgress: () => {} },
      ),
  };
}
