import { useState } from 'preact/hooks';
import { formatTime } from '../../format.ts';

interface SparklineProps {
  readonly label: string;
  /** Unix times in milliseconds. */
  readonly times: readonly number[];
  /** A value for each time; null is a gap. */
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
  /** The top of the plot; the largest value if left out. */
  readonly most?: number;
}

const WIDTH = 240;
const HEIGHT = 44;
/** Time that a young server's hour is drawn as, at least. */
const LEAST_MS = 60_000;

/** The course of one value, without axes: the pointer says what it was when. */
export function Sparkline({ label, times, values, format, most }: SparklineProps) {
  const [pointed, setPointed] = useState<number | null>(null);
  const end = times.at(-1) ?? 0;
  const start = Math.min(times[0] ?? 0, end - LEAST_MS);
  const top = most ?? Math.max(...values.map((value) => value ?? 0), Number.MIN_VALUE);
  const x = (time: number) => ((time - start) / (end - start || 1)) * WIDTH;
  const y = (value: number) => HEIGHT - 2 - (value / top) * (HEIGHT - 6);
  const points = times.map((time, index) => ({ x: x(time), value: values[index] ?? null }));
  const runs = withoutGaps(points);
  const shown = pointed === null ? undefined : points[pointed];
  const known = values.filter((value) => value !== null);
  const summary =
    known.length === 0
      ? 'nothing yet'
      : `from ${format(Math.min(...known))} to ${format(Math.max(...known))}`;
  return (
    <div
      class="sparkline"
      onPointerMove={(event) => {
        const { left, width } = event.currentTarget.getBoundingClientRect();
        const time = start + ((event.clientX - left) / width) * (end - start);
        setPointed(nearest(times, time));
      }}
      onPointerLeave={() => setPointed(null)}
    >
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${summary}`}
      >
        <line class="base" x1="0" x2={WIDTH} y1={HEIGHT - 1} y2={HEIGHT - 1} />
        {runs.map((run) => {
          const line = run.map((point) => `${point.x.toFixed(1)} ${y(point.value).toFixed(1)}`);
          const first = run[0]?.x ?? 0;
          const last = run.at(-1)?.x ?? 0;
          if (run.length === 1) return <path key={first} class="dot" d={`M${line[0]}h0.01`} />;
          return (
            <g key={first}>
              <path class="area" d={`M${first} ${HEIGHT}L${line.join('L')}L${last} ${HEIGHT}Z`} />
              <path class="line" d={`M${line.join('L')}`} />
            </g>
          );
        })}
        {shown && <line class="pointer" x1={shown.x} x2={shown.x} y1="0" y2={HEIGHT} />}
      </svg>
      {shown && pointed !== null && (
        <p class={shown.x > WIDTH / 2 ? 'sparkline-tip left' : 'sparkline-tip'}>
          <b>{shown.value === null ? 'none' : format(shown.value)}</b>{' '}
          {formatTime(times[pointed] ?? 0)}
        </p>
      )}
    </div>
  );
}

interface Point {
  readonly x: number;
  readonly value: number;
}

/** Values that are missing, at most, within a line: between two requests nothing is measured. */
const MAX_GAP = 6;

function withoutGaps(points: readonly { x: number; value: number | null }[]): Point[][] {
  const runs: Point[][] = [];
  let run: Point[] | null = null;
  let missing = 0;
  for (const { x, value } of points) {
    if (value === null) {
      missing++;
      if (missing > MAX_GAP) run = null;
    } else {
      missing = 0;
      if (run === null) runs.push((run = []));
      run.push({ x, value });
    }
  }
  return runs;
}

function nearest(times: readonly number[], time: number): number | null {
  let best: number | null = null;
  for (const [index, each] of times.entries()) {
    const isNearer = best === null || Math.abs(each - time) < Math.abs((times[best] ?? 0) - time);
    if (isNearer) best = index;
  }
  return best;
}
