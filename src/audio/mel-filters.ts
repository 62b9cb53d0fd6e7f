/** The filters of Slaney's Auditory Toolbox, which librosa and Whisper use. */

/** Hertz that are apart evenly below 1 kHz, and by their logarithm above. */
const LINEAR_HZ = 200 / 3;
const KNEE_HZ = 1000;
const KNEE = KNEE_HZ / LINEAR_HZ;
const STEP = Math.log(6.4) / 27;

export interface MelFilter {
  /** First frequency that it has. */
  readonly first: number;
  readonly factors: Float64Array;
}

/**
 * @param mels number of filters
 * @param bins frequencies of a spectrum, from 0 to `maxHz`
 */
export function melFilters(mels: number, bins: number, maxHz: number): readonly MelFilter[] {
  const top = toMel(maxHz);
  const edges = Array.from({ length: mels + 2 }, (_, index) => toHz((top * index) / (mels + 1)));
  return Array.from({ length: mels }, (_, index) => {
    const [low = 0, middle = 0, high = 0] = edges.slice(index, index + 3);
    const factors = Float64Array.from({ length: bins }, (__, bin) => {
      const hz = (maxHz * bin) / (bins - 1);
      const up = (hz - low) / (middle - low);
      const down = (high - hz) / (high - middle);
      return Math.max(0, Math.min(up, down)) * (2 / (high - low));
    });
    const first = Math.max(
      0,
      factors.findIndex((factor) => factor > 0),
    );
    const last = factors.findLastIndex((factor) => factor > 0);
    return { first, factors: factors.slice(first, last + 1) };
  });
}

function toMel(hz: number): number {
  return hz < KNEE_HZ ? hz / LINEAR_HZ : KNEE + Math.log(hz / KNEE_HZ) / STEP;
}

function toHz(mel: number): number {
  return mel < KNEE ? mel * LINEAR_HZ : KNEE_HZ * Math.exp(STEP * (mel - KNEE));
}
