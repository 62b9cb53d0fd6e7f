/**
 * Resizes as Pillow does, bit by bit: a filter as wide as the scale asks for, its weights in fixed point,
 * one axis after the other with bytes in between. Preprocessors of published models are made of it.
 */
import { CHANNELS, type Color, type Pixels } from './pixels.ts';

/** As Pillow counts them, and so preprocessor_config.json. */
export const RESAMPLES = ['nearest', 'lanczos', 'bilinear', 'bicubic', 'box'] as const;
export type Resample = (typeof RESAMPLES)[number];
/** Those that look at more than one pixel. */
export type Filtering = Exclude<Resample, 'nearest'>;

/** Bits behind the point of a weight: a byte, and two bits for weights below 0 and above 1, fit into 32. */
const WEIGHT_BITS = 22;
const HALF = 2 ** (WEIGHT_BITS - 1);

interface Filter {
  /** Reach of the filter to each side, in pixels. */
  readonly support: number;
  readonly weight: (distance: number) => number;
}

const FILTERS: Readonly<Record<Filtering, Filter>> = {
  box: { support: 0.5, weight: (x) => (x > -0.5 && x <= 0.5 ? 1 : 0) },
  bilinear: { support: 1, weight: (x) => Math.max(0, 1 - Math.abs(x)) },
  bicubic: { support: 2, weight: (x) => cubic(Math.abs(x)) },
  lanczos: { support: 3, weight: (x) => (x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0) },
};

function cubic(x: number): number {
  const a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI);
}

/** @param width of the result, from 1 on, as its height */
export function resize(image: Pixels, width: number, height: number, resample: Resample): Pixels {
  if (resample === 'nearest') return nearest(image, width, height);
  const filter = FILTERS[resample];
  const narrowed = width === image.width ? image : alongRows(image, width, filter);
  return height === image.height ? narrowed : alongColumns(narrowed, height, filter);
}

/**
 * Resizes an image in the middle of a square of one color, whose sides are the image's longer one. The square itself
 * is never in memory.
 * @param side of the result, from 1 on
 */
export function resizeSquare(
  image: Pixels,
  side: number,
  resample: Filtering,
  color: Color,
): Pixels {
  const { width, height } = image;
  const filter = FILTERS[resample];
  const longer = Math.max(width, height);
  if (width === height) return resize(image, side, side, resample);
  const narrowed = alongRows(image, side, filter, around(width, longer, color));
  return alongColumns(narrowed, side, filter, around(height, longer, color));
}

/** Pixels of one color before and after those of an axis. */
interface Margins {
  readonly before: number;
  readonly all: number;
  readonly color: Color;
}

const BLACK: Color = [0, 0, 0];

function around(pixels: number, all: number, color: Color): Margins {
  return { before: Math.floor((all - pixels) / 2), all, color };
}

/** For each place of the result: where its pixels begin, how many there are, and their weights. */
interface Weights {
  readonly starts: Int32Array;
  readonly counts: Int32Array;
  /** Place of the first weight of each. */
  readonly firsts: Int32Array;
  readonly weights: Int32Array;
  /** Sums of the weights of margins. */
  readonly outside: Int32Array;
}

function weightsOf(pixels: number, to: number, filter: Filter, margins?: Margins): Weights {
  const made = weightsOfAll(margins?.all ?? pixels, to, filter);
  if (margins === undefined) return made;
  const { starts, counts, firsts, weights, outside } = made;
  const { before } = margins;
  for (let place = 0; place < to; place++) {
    const [start, first] = [starts[place] ?? 0, firsts[place] ?? 0];
    const end = start + (counts[place] ?? 0);
    const within = (at: number) => at >= before && at < before + pixels;
    for (let at = start; at < end; at++) {
      if (!within(at)) outside[place] = (outside[place] ?? 0) + (weights[first + at - start] ?? 0);
    }
    const seen = Math.min(Math.max(start, before), before + pixels);
    starts[place] = seen - before;
    firsts[place] = first + seen - start;
    counts[place] = Math.max(0, Math.min(end, before + pixels) - seen);
  }
  return made;
}

function weightsOfAll(from: number, to: number, { support, weight }: Filter): Weights {
  const scale = from / to;
  const filterScale = Math.max(scale, 1);
  const reach = support * filterScale;
  const size = Math.ceil(reach) * 2 + 1;
  const starts = new Int32Array(to);
  const counts = new Int32Array(to);
  const firsts = Int32Array.from({ length: to }, (_, place) => place * size);
  const weights = new Int32Array(to * size);
  for (let place = 0; place < to; place++) {
    const center = (place + 0.5) * scale;
    const start = Math.max(0, Math.trunc(center - reach + 0.5));
    const count = Math.min(from, Math.trunc(center + reach + 0.5)) - start;
    const exact = Array.from({ length: count }, (_, index) =>
      weight((index + start - center + 0.5) * (1 / filterScale)),
    );
    const sum = exact.reduce((total, each) => total + each, 0);
    exact.forEach((each, index) => {
      const share = sum === 0 ? each : each / sum;
      weights[place * size + index] = share * 2 ** WEIGHT_BITS + (share < 0 ? -0.5 : 0.5);
    });
    starts[place] = start;
    counts[place] = count;
  }
  return { starts, counts, firsts, weights, outside: new Int32Array(to) };
}

function alongRows(
  { width: from, height, data }: Pixels,
  width: number,
  filter: Filter,
  margins?: Margins,
): Pixels {
  const { starts, counts, firsts, weights, outside } = weightsOf(from, width, filter, margins);
  const [marginRed, marginGreen, marginBlue] = margins?.color ?? BLACK;
  const made = new Uint8Array(width * height * CHANNELS);
  let out = 0;
  for (let y = 0; y < height; y++) {
    const row = y * from * CHANNELS;
    for (let x = 0; x < width; x++) {
      const share = outside[x] ?? 0;
      let red = HALF + share * marginRed;
      let green = HALF + share * marginGreen;
      let blue = HALF + share * marginBlue;
      let at = row + (starts[x] ?? 0) * CHANNELS;
      const first = firsts[x] ?? 0;
      const end = first + (counts[x] ?? 0);
      for (let index = first; index < end; index++) {
        const weight = weights[index] ?? 0;
        red += (data[at++] ?? 0) * weight;
        green += (data[at++] ?? 0) * weight;
        blue += (data[at++] ?? 0) * weight;
      }
      made[out++] = toByte(red);
      made[out++] = toByte(green);
      made[out++] = toByte(blue);
    }
  }
  return { width, height, data: made };
}

function alongColumns(
  { width, height: from, data }: Pixels,
  height: number,
  filter: Filter,
  margins?: Margins,
): Pixels {
  const { starts, counts, firsts, weights, outside } = weightsOf(from, height, filter, margins);
  const color = margins?.color ?? BLACK;
  const stride = width * CHANNELS;
  const made = new Uint8Array(height * stride);
  // A row at a time, as it is in memory.
  const sums = new Int32Array(stride);
  for (let y = 0; y < height; y++) {
    for (let at = 0; at < stride; at++) {
      sums[at] = HALF + (outside[y] ?? 0) * (color[at % CHANNELS] ?? 0);
    }
    for (let index = 0; index < (counts[y] ?? 0); index++) {
      const weight = weights[(firsts[y] ?? 0) + index] ?? 0;
      const row = ((starts[y] ?? 0) + index) * stride;
      for (let at = 0; at < stride; at++)
        sums[at] = (sums[at] ?? 0) + (data[row + at] ?? 0) * weight;
    }
    const out = y * stride;
    for (let at = 0; at < stride; at++) made[out + at] = toByte(sums[at] ?? 0);
  }
  return { width, height, data: made };
}

function toByte(sum: number): number {
  const value = sum >> WEIGHT_BITS;
  if (value < 0) return 0;
  return value > 255 ? 255 : value;
}

function nearest({ width: from, height: fromHeight, data }: Pixels, width: number, height: number) {
  const made = new Uint8Array(width * height * CHANNELS);
  const columns = nearestPlaces(from, width);
  let out = 0;
  for (const row of nearestPlaces(fromHeight, height)) {
    for (const column of columns) {
      const at = (row * from + column) * CHANNELS;
      made[out++] = data[at] ?? 0;
      made[out++] = data[at + 1] ?? 0;
      made[out++] = data[at + 2] ?? 0;
    }
  }
  return { width, height, data: made };
}

/** Step by step, since rounding errors add up so in Pillow. */
function nearestPlaces(from: number, to: number): Int32Array {
  const step = from / to;
  let at = step / 2;
  return Int32Array.from({ length: to }, () => {
    const place = Math.trunc(at);
    at += step;
    return place;
  });
}
