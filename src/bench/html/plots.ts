/** The plots of a report, from the runs of a benchmark. */
import type { BenchmarkRun } from '../benchmark-run.ts';
import { arrivalLabel, LATENCY_TITLES } from '../labels.ts';
import { e2elOf, itlsOf, ttftOf } from '../latencies.ts';
import type { LatencyName } from '../bench-metrics.ts';
import type { RequestRecord } from '../recorder.ts';
import { percentile } from '../statistics.ts';
import { ratesOverTime } from '../throughput.ts';
import { linePlot, type Point, type Series } from './plot.ts';

/** Points of a distribution curve. */
const CURVE_POINTS = 200;

/** Beyond this ratio of the slowest to the fastest, a distribution is drawn on a log scale. */
const LOG_FROM_RATIO = 30;

const SAMPLES: readonly {
  readonly name: LatencyName;
  readonly of: (record: RequestRecord) => readonly number[];
}[] = [
  { name: 'ttft', of: (record) => [ttftOf(record)] },
  { name: 'itl', of: itlsOf },
  { name: 'e2el', of: (record) => [e2elOf(record)] },
];

/** Cumulative distributions of TTFT, ITL and E2E latency, a curve for each run. */
export function latencyPlots(runs: readonly BenchmarkRun[]): string[] {
  return SAMPLES.flatMap(({ name, of }) => {
    const sets = runs.map((run) => Float64Array.from(completed(run).flatMap(of)).sort());
    const series = sets.flatMap((sorted, index): Series[] =>
      sorted.length === 0
        ? []
        : [{ label: labelOf(runs, index), color: colorOf(runs, index), points: curve(sorted) }],
    );
    if (series.length === 0) return [];
    const [only] = sets;
    return linePlot({
      title: LATENCY_TITLES[name],
      xLabel: 'milliseconds',
      yLabel: '% of ' + (name === 'itl' ? 'tokens' : 'requests'),
      series,
      xScale: isWide(series) ? 'log' : 'linear',
      yMax: 100,
      ...(runs.length === 1 && only
        ? {
            markers: [50, 99].map((p) => ({
              x: percentile(only, p),
              label: `p${p} ${formatMs(percentile(only, p))}`,
            })),
          }
        : {}),
    });
  });
}

/** Tokens in every second, and requests in flight. */
export function overTimePlots(run: BenchmarkRun): string[] {
  const { tokensPerSecond, concurrency } = ratesOverTime(completed(run));
  if (tokensPerSecond.length === 0) return [];
  const color = 'var(--accent)';
  const steps = (values: readonly number[]): Point[] =>
    values.flatMap((value, second): Point[] => [
      [second, value],
      [second + 1, value],
    ]);
  const inFlight = concurrency.flatMap(({ atMs, count }, index): Point[] => [
    [atMs / 1000, concurrency[index - 1]?.count ?? 0],
    [atMs / 1000, count],
  ]);
  return [
    linePlot({
      title: 'Output tokens in each second',
      xLabel: 'seconds',
      yLabel: 'tokens/s',
      series: [{ label: 'tokens/s', color, points: steps(tokensPerSecond) }],
      width: 580,
    }),
    linePlot({
      title: 'Requests in flight',
      xLabel: 'seconds',
      yLabel: 'requests',
      series: [{ label: 'requests', color, points: inFlight }],
      width: 580,
    }),
  ];
}

/** Throughput and latency against the offered rate; nothing without at least two rates. */
export function ratePlots(runs: readonly BenchmarkRun[]): string[] {
  const finite = runs
    .filter(({ arrivals }) => arrivals.rate !== Infinity && !arrivals.rampUp)
    .sort((a, b) => a.arrivals.rate - b.arrivals.rate);
  if (finite.length < 2) return [];
  const line = (label: string, color: string, value: (run: BenchmarkRun) => number): Series => ({
    label,
    color,
    dots: true,
    points: finite.map((run): Point => [run.arrivals.rate, value(run)]),
  });
  const latency = (name: LatencyName) =>
    linePlot({
      title: `${LATENCY_TITLES[name]} against rate`,
      xLabel: 'requests per second offered',
      yLabel: 'milliseconds',
      series: [
        line('median', 'var(--accent)', ({ metrics }) => metrics.latencies[name].median),
        {
          ...line('p99', 'var(--second)', ({ metrics }) => tail(metrics.latencies[name])),
          dashed: true,
        },
      ],
    });
  const throughput = linePlot({
    title: 'Throughput against rate',
    xLabel: 'requests per second offered',
    yLabel: 'output tokens/s',
    series: [line('output tokens/s', 'var(--accent)', ({ metrics }) => metrics.outputThroughput)],
  });
  return [throughput, latency('ttft'), latency('itl')];
}

/** p99, or the highest percentile there is. */
function tail({ percentiles, median }: BenchmarkRun['metrics']['latencies']['ttft']): number {
  return percentiles.get(99) ?? [...percentiles.values()].at(-1) ?? median;
}

function completed({ records }: BenchmarkRun): RequestRecord[] {
  return records.filter(({ error }) => error === null);
}

/** Evenly spaced percentages, and the tail beyond 99 by itself. */
function curve(sorted: Float64Array): Point[] {
  const percentages = Array.from(
    { length: CURVE_POINTS + 1 },
    (_, index) => (index * 100) / CURVE_POINTS,
  );
  return [...percentages, 99.9].sort((a, b) => a - b).map((p) => [percentile(sorted, p), p]);
}

function isWide(series: readonly Series[]): boolean {
  const values = series.flatMap(({ points }) => points.map(([x]) => x));
  const least = values.reduce((a, b) => Math.min(a, b), Infinity);
  return least > 0 && values.reduce((a, b) => Math.max(a, b), 0) / least > LOG_FROM_RATIO;
}

function labelOf(runs: readonly BenchmarkRun[], index: number): string {
  const run = runs[index];
  return run ? arrivalLabel(run.arrivals) : '';
}

/** Runs are ordered, so are their colors: one hue, from the first run's to the last one's. */
function colorOf(runs: readonly BenchmarkRun[], index: number): string {
  if (runs.length === 1) return 'var(--accent)';
  const share = Math.round((100 * index) / (runs.length - 1));
  return `color-mix(in oklab, var(--last-run) ${share}%, var(--first-run))`;
}

export function formatMs(ms: number): string {
  return ms >= 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
}
