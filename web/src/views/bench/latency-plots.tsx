import type { BenchmarkRun } from '../../../../src/bench/benchmark-run.ts';
import { e2elOf, itlsOf, ttftOf } from '../../../../src/bench/latencies.ts';
import type { RequestRecord } from '../../../../src/bench/recorder.ts';
import { percentile } from '../../../../src/bench/statistics.ts';
import { formatMs } from '../../format.ts';
import { Plot, type Point } from './plot.tsx';

/** Points of a curve. */
const CURVE_POINTS = 200;
/** Beyond this ratio of the slowest to the fastest, a distribution is drawn on a log scale. */
const LOG_FROM_RATIO = 30;

const SAMPLES: readonly {
  readonly title: string;
  readonly of: (record: RequestRecord) => readonly number[];
  readonly what: string;
}[] = [
  { title: 'Time to first token', of: (record) => [ttftOf(record)], what: '% of requests' },
  { title: 'Between tokens', of: itlsOf, what: '% of tokens' },
  { title: 'Whole answer', of: (record) => [e2elOf(record)], what: '% of requests' },
];

/** How latencies are spread: how many were no slower than so much. */
export function LatencyPlots({ run }: { readonly run: BenchmarkRun }) {
  const answered = run.records.filter(({ error }) => error === null);
  return (
    <div class="plots">
      {SAMPLES.map(({ title, of, what }) => {
        const sorted = Float64Array.from(answered.flatMap(of)).sort();
        if (sorted.length === 0) return null;
        const points = curveOf(sorted);
        const fastest = points[0]?.[0] ?? 0;
        const slowest = points.at(-1)?.[0] ?? 0;
        const isWide = fastest > 0 && slowest / fastest > LOG_FROM_RATIO;
        return (
          <Plot
            key={title}
            title={title}
            xLabel="no slower than"
            formatX={formatMs}
            yLabel={what}
            points={points}
            xScale={isWide ? 'log' : 'linear'}
            yMax={100}
            markers={[50, 99].map((p) => {
              const ms = percentile(sorted, p);
              return { x: ms, label: `p${p} ${formatMs(ms)}` };
            })}
          />
        );
      })}
    </div>
  );
}

function curveOf(sorted: Float64Array): Point[] {
  return Array.from({ length: CURVE_POINTS + 1 }, (_, index) => {
    const share = (index * 100) / CURVE_POINTS;
    return [percentile(sorted, share), share];
  });
}
