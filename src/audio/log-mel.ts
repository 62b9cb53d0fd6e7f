/** Features that Whisper hears: the logarithm of energies in bands, as Transformers' WhisperFeatureExtractor has it. */
import { SAMPLE_RATE } from './decode.ts';
import { Fourier } from './fourier.ts';
import { type MelFilter, melFilters } from './mel-filters.ts';

/** Samples between two frames. */
export const HOP = 160;

const FRAME = 400;
const RADICES = [4, 4, 5, 5];
const BINS = FRAME / 2 + 1;
const FLOOR = 1e-10;
/** Powers of ten below the loudest, beyond which all is as silent. */
const RANGE = 8;

/** Size of what a model hears of a window. */
export interface WindowSize {
  /** Number of bands: 80, or 128 of the third large model. */
  readonly mels: number;
  /** Frames of a window; an even number. Whisper's has 3,000, which are 30 s. */
  readonly frames: number;
}

export class LogMel {
  readonly #mels: number;
  readonly #frames: number;
  readonly #filters: readonly MelFilter[];
  readonly #fourier = new Fourier(RADICES);
  readonly #window = Float64Array.from(
    { length: FRAME },
    (_, index) => 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / FRAME),
  );

  constructor({ mels, frames }: WindowSize) {
    this.#mels = mels;
    this.#frames = frames;
    this.#filters = melFilters(mels, BINS, SAMPLE_RATE / 2);
  }

  /**
   * @param samples of a window or less, 16,000 per second, full scale -1 to 1; silence follows
   * @returns `mels` rows of `frames` numbers
   */
  features(samples: Float32Array): Float32Array<ArrayBuffer> {
    const padded = reflected(samples, this.#frames * HOP);
    const out = new Float32Array(this.#mels * this.#frames);
    const real = new Float64Array(FRAME);
    const imaginary = new Float64Array(FRAME);
    const power = [new Float64Array(BINS), new Float64Array(BINS)] as const;
    // Real numbers leave room for a second frame.
    for (let frame = 0; frame < this.#frames; frame += 2) {
      const start = frame * HOP;
      for (let index = 0; index < FRAME; index++) {
        const factor = this.#window[index]!;
        real[index] = factor * padded[start + index]!;
        imaginary[index] = factor * padded[start + HOP + index]!;
      }
      this.#fourier.transform(real, imaginary);
      separate(real, imaginary, power);
      this.#write(power[0], out, frame);
      this.#write(power[1], out, frame + 1);
    }
    return normalized(out);
  }

  #write(power: Float64Array, out: Float32Array, frame: number): void {
    for (const [mel, { first, factors }] of this.#filters.entries()) {
      let sum = 0;
      for (let index = 0; index < factors.length; index++) {
        sum += factors[index]! * power[first + index]!;
      }
      out[mel * this.#frames + frame] = Math.log10(Math.max(FLOOR, sum));
    }
  }
}

/** A window with half a frame more on each side, which mirrors what is next to it. */
function reflected(samples: Float32Array, size: number): Float32Array {
  const half = FRAME / 2;
  const padded = new Float32Array(size + FRAME);
  padded.set(samples.subarray(0, size), half);
  for (let index = 1; index <= half; index++) {
    padded[half - index] = padded[half + index]!;
    padded[half + size - 1 + index] = padded[half + size - 1 - index]!;
  }
  return padded;
}

/** Energies of two frames, of which one went in as the real parts and one as the imaginary ones. */
function separate(
  real: Float64Array,
  imaginary: Float64Array,
  [first, second]: readonly [Float64Array, Float64Array],
): void {
  for (let bin = 0; bin < BINS; bin++) {
    const mirror = (FRAME - bin) % FRAME;
    const sumReal = real[bin]! + real[mirror]!;
    const sumImaginary = imaginary[bin]! + imaginary[mirror]!;
    const differenceReal = real[bin]! - real[mirror]!;
    const differenceImaginary = imaginary[bin]! - imaginary[mirror]!;
    first[bin] = (sumReal ** 2 + differenceImaginary ** 2) / 4;
    second[bin] = (sumImaginary ** 2 + differenceReal ** 2) / 4;
  }
}

function normalized(logs: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  let highest = -Infinity;
  for (const log of logs) highest = Math.max(highest, log);
  const lowest = highest - RANGE;
  for (let index = 0; index < logs.length; index++) {
    logs[index] = (Math.max(logs[index]!, lowest) + 4) / 4;
  }
  return logs;
}
