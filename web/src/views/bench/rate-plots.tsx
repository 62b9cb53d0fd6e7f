import type { BenchmarkRun } from '../../../../src/bench/benchmark-run.ts';
import { ratesOverTime } from '../../../../src/bench/throughput.ts';
import { Plot, type Point } from './plot.tsx';

/** Tokens in every second, and requests in flight. */
export function RatePlots({ run }: { readonly run: BenchmarkRun }) {
  const answered = run.records.filter(({ error }) => error === null);
  const { tokensPerSecond, concurrency } = ratesOverTime(answered);
  if (tokensPerSecond.length === 0) return null;
  const tokens = tokensPerSecond.flatMap((value, second): Point[] => [
    [second, value],
    [second + 1, value],
  ]);
  const inFlight = concurrency.flatMap(({ atMs, count }, index): Point[] => [
    [atMs / 1000, concurrency[index - 1]?.count ?? 0],
    [atMs / 1000, count],
  ]);
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
