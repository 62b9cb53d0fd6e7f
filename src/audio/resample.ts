/** Changes the rate of samples by a band-limited filter: a sinc in a Kaiser window. */

/** Zero crossings of the sinc on each side. */
const CROSSINGS = 48;
/** Shape of the window: other frequencies are 90 dB lower. */
const BETA = 9;
/** Middle of the transition, as a share of the lower one of both Nyquist frequencies, which is its end. */
const ROLLOFF = 0.94;
/** More phases than any usual rate has; beyond, the nearest one is taken. */
const MAX_PHASES = 2048;

/**
 * One channel of sound, in pieces. Delays nothing: its first sample is at the time of the first one that came
 * in, and it has as many seconds.
 */
export class Resampler {
  readonly #filter: Filter;
  /** Samples that later outputs need, the first of them at `#first`; zeros come before the sound. */
  #kept: Float32Array;
  /** Place of the first kept sample in the input. */
  #first: number;
  #received = 0;
  #made = 0;

  /** @param from and to in samples per second, whole numbers */
  constructor(from: number, to: number) {
    this.#filter = filterOf(from, to);
    this.#kept = new Float32Array(this.#filter.reach);
    this.#first = -this.#filter.reach;
  }

  push(input: Float32Array): Float32Array<ArrayBuffer> {
    this.#received += input.length;
    this.#keep(input);
    const { up, down, reach } = this.#filter;
    const last = this.#received - reach - 1;
    return this.#make(last < 0 ? 0 : Math.floor((last * up) / down) + 1);
  }

  /** The rest. */
  end(): Float32Array<ArrayBuffer> {
    const { up, down, reach } = this.#filter;
    this.#keep(new Float32Array(reach + 1));
    return this.#make(Math.ceil((this.#received * up) / down));
  }

  #keep(input: Float32Array): void {
    const all = new Float32Array(this.#kept.length + input.length);
    all.set(this.#kept);
    all.set(input, this.#kept.length);
    this.#kept = all;
  }

  /** @param end number of samples that have been made then, in all */
  #make(end: number): Float32Array<ArrayBuffer> {
    const { up, down, reach, phases, taps } = this.#filter;
    const width = 2 * reach;
    const kept = this.#kept;
    const made = new Float32Array(Math.max(0, end - this.#made));
    for (let index = 0; index < made.length; index++) {
      const at = (this.#made + index) * down;
      let base = Math.floor(at / up);
      let phase = Math.round(((at - base * up) / up) * phases);
      if (phase === phases) {
        base += 1;
        phase = 0;
      }
      const from = base - reach + 1 - this.#first;
      const row = phase * width;
      // Several sums, which do not wait for each other.
      let even = 0;
      let odd = 0;
      for (let tap = 0; tap < width; tap += 2) {
        even += taps[row + tap]! * kept[from + tap]!;
        odd += taps[row + tap + 1]! * kept[from + tap + 1]!;
      }
      made[index] = even + odd;
    }
    this.#made += made.length;
    const next = Math.floor((this.#made * down) / up) - reach + 1;
    const drop = Math.max(0, Math.min(this.#kept.length, next - this.#first));
    this.#kept = this.#kept.slice(drop);
    this.#first += drop;
    return made;
  }
}

interface Filter {
  /** Output samples for `down` input samples, in lowest terms. */
  readonly up: number;
  readonly down: number;
  /** Input samples before and after an output sample that make it. */
  readonly reach: number;
  readonly phases: number;
  /** For each phase `2 * reach` factors. */
  readonly taps: Float32Array;
}

function filterOf(from: number, to: number): Filter {
  const divisor = greatestDivisor(from, to);
  const up = to / divisor;
  const down = from / divisor;
  const cutoff = Math.min(1, to / from) * ROLLOFF;
  const reach = Math.ceil(CROSSINGS / cutoff);
  const phases = Math.min(up, MAX_PHASES);
  const width = 2 * reach;
  const taps = new Float32Array(phases * width);
  for (let phase = 0; phase < phases; phase++) {
    const row = Array.from({ length: width }, (_, tap) => {
      const x = tap - reach + 1 - phase / phases;
      return sinc(cutoff * x) * kaiser(x / reach);
    });
    // The gain of nothing but direct current is one in every phase.
    const gain = row.reduce((sum, tap) => sum + tap, 0);
    taps.set(
      row.map((tap) => tap / gain),
      phase * width,
    );
  }
  return { up, down, reach, phases, taps };
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** @param x 0 in the middle, 1 and -1 at the ends */
function kaiser(x: number): number {
  return Math.abs(x) > 1 ? 0 : bessel(BETA * Math.sqrt(1 - x * x)) / bessel(BETA);
}

/** Modified Bessel function of the first kind and order zero. */
function bessel(x: number): number {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
