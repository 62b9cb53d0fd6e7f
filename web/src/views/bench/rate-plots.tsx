import type { BenchmarkRun } from '../../../../src/bench/benchmark-run.ts';
import { ratesOverTime } from '../../../../src/bench/throughput.ts';
import { Plot, type Point } from './plot.tsx';

/** Points of the second plot. */
const BINS = 120;

/** Tokens in every second, and requests in flight. */
export function RatePlots({ run }: { readonly run: BenchmarkRun }) {
  const answered = run.records.filter(({ error }) => error === null);
  const { tokensPerSecond, concurrency } = ratesOverTime(answered);
  if (tokensPerSecond.length === 0) return null;
  const tokens = tokensPerSecond.flatMap((value, second): Point[] => [
    [second, value],
    [second + 1, value],
  ]);
  const inFlight = inBins(concurrency, (tokensPerSecond.length * 1000) / BINS).flatMap(
    ({ atMs, count, untilMs }): Point[] => [
      [atMs / 1000, count],
      [untilMs / 1000, count],
    ],
  );
  return (
    <div class="plots pair">
      <Plot
        title="Output tokens in each second"
        xLabel="seconds"
        yLabel="tokens/s"
        points={tokens}
        isWide
      />
      <Plot
        title="Requests in flight"
        xLabel="seconds"
        yLabel="requests"
        points={inFlight}
        isWide
      />
    </div>
  );
}

/** The most in each stretch of time: between two requests of a client there is a moment without. */
function inBins(
  changes: readonly { readonly atMs: number; readonly count: number }[],
  binMs: number,
) {
  const bins: { atMs: number; untilMs: number; count: number }[] = [];
  let count = 0;
  for (const change of changes) {
    const start = Math.floor(change.atMs / binMs) * binMs;
    const last = bins.at(-1);
    if (last !== undefined && last.atMs === start) {
      last.count = Math.max(last.count, change.count);
    } else {
      if (last !== undefined) last.untilMs = start;
      bins.push({ atMs: start, untilMs: start + binMs, count: Math.max(count, change.count) });
    }
    ({ count } = change);
  }
  return bins;
}
