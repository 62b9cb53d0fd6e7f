/** A map from values to pixels, with the ticks of its axis. */
export interface Scale {
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

export type PixelRange = readonly [from: number, to: number];

/** From 0 to `max`, or to the next tick above it. */
export function linearScale(
  max: number,
  [from, to]: PixelRange,
  { endsAtTick = true }: { endsAtTick?: boolean } = {},
): Scale {
  const step = niceStep((max || 1) / 5);
  const numSteps = (max || 1) / step;
  const count = endsAtTick ? Math.ceil(numSteps - 1e-9) : Math.floor(numSteps + 1e-9);
  const end = endsAtTick ? count * step : max || 1;
  return {
    at: (value) => from + (value / end) * (to - from),
    ticks: Array.from({ length: count + 1 }, (_, index) => index * step),
  };
}

/** From the tick below the least of `values` to the one above the largest: 0 need not be shown. */
export function rangeScale(values: readonly number[], [from, to]: PixelRange): Scale {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const step = niceStep((most - least || Math.abs(most) || 1) / 5);
  const start = Math.floor(least / step + 1e-9) * step;
  const count = Math.max(1, Math.ceil((most - start) / step - 1e-9));
  return {
    at: (value) => from + ((value - start) / (count * step)) * (to - from),
    ticks: Array.from({ length: count + 1 }, (_, index) => start + index * step),
  };
}

/** For values above 0 over several orders of magnitude, from exactly `min` to `max`. */
export function logScale(min: number, max: number, [from, to]: PixelRange): Scale {
  const low = Math.log10(min);
  const span = Math.log10(max) - low || 1;
  return {
    at: (value) => from + ((Math.log10(value) - low) / span) * (to - from),
    ticks: logTicks(min, max),
  };
}

/** 1, 2 and 5 of every power of ten; only the powers when that is too many. */
function logTicks(min: number, max: number): number[] {
  const ticks: number[] = [];
  const decades = Math.log10(max / min);
  const multiples = decades > 3 ? [1] : decades > 1.2 ? [1, 3] : [1, 2, 5];
  for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power++) {
    for (const multiple of multiples) {
      const tick = multiple * 10 ** power;
      if (tick >= min * 0.999 && tick <= max * 1.001) ticks.push(tick);
    }
  }
  return ticks;
}

/** The smallest of 1, 2 and 5 times a power of ten that is at least `rough`. */
function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  const multiple = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * 0.999) ?? 10;
  return multiple * power;
}

/** A number as an axis shows it: 1500 is 1.5k. */
export function formatTick(value: number): string {
  if (Math.abs(value) >= 10_000) return `${Number((value / 1000).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}
