import { formatMs, formatNumber } from '../../format.ts';
import { Icon } from '../../components/icon.tsx';
import { LatencyPlots } from './latency-plots.tsx';
import { RatePlots } from './rate-plots.tsx';
import type { BenchResult } from './run-load.ts';
import { saveHtml, saveJson } from './save-report.ts';
import { Timeline } from './timeline.tsx';

/** Result of a load test, in the style of the command's report. */
export function Report({ result }: { readonly result: BenchResult }) {
  const { run, model, plan, cutShort } = result;
  const errors = new Set(run.records.flatMap(({ error }) => error ?? []));
  return (
    <section aria-labelledby="report">
      <div class="report-head">
        <h2 id="report">Report</h2>
        <button type="button" class="quiet" onClick={() => void saveHtml(result)}>
          <Icon name="download" /> HTML
        </button>
        <button type="button" class="quiet" onClick={() => void saveJson(result)}>
          <Icon name="download" /> JSON
        </button>
      </div>
      <p class="soft facts">
        {model}: {plan.requests} requests of {plan.promptTokens} + {plan.outputTokens} tokens,{' '}
        {plan.rate === 0 ? 'all at once' : `${plan.rate} a second`}, at most {plan.concurrency} in
        flight, as this browser saw it
      </p>
      {cutShort !== null && <p class="bad-text">{cutShort} This is what was answered by then.</p>}
      <ReportTiles result={result} />
      {errors.size > 0 && (
        <ul class="bad-text">
          {[...errors].slice(0, 5).map((error) => (
            <li key={error}>{error}</li>
          ))}
        </ul>
      )}
      {run.metrics.completed > 0 && (
        <>
          <h3>Latency</h3>
          <LatencyPlots run={run} />
          <h3>Over time</h3>
          <RatePlots run={run} />
          <Timeline records={run.records} />
        </>
      )}
    </section>
  );
}

function ReportTiles({ result: { run } }: { readonly result: BenchResult }) {
  const { metrics, durationMs, records } = run;
  const { ttft, itl, e2el } = metrics.latencies;
  const hasAnswers = metrics.completed > 0;
  const tiles: readonly (readonly [string, string, string])[] = [
    ['Output throughput', formatNumber(metrics.outputThroughput), 'tokens/s'],
    ['Request throughput', formatNumber(metrics.requestThroughput), 'a second'],
    ['First token, median', hasAnswers ? formatMs(ttft.median) : '–', tailOf(ttft, hasAnswers)],
    ['Between tokens, median', hasAnswers ? formatMs(itl.median) : '–', tailOf(itl, hasAnswers)],
    ['Whole answer, median', hasAnswers ? formatMs(e2el.median) : '–', tailOf(e2el, hasAnswers)],
    ['Completed', String(metrics.completed), `of ${records.length}`],
    ['Duration', formatMs(durationMs), ''],
  ];
  return (
    <dl class="tiles">
      {tiles.map(([label, value, note]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>
            {value} <small>{note}</small>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function tailOf(
  { percentiles }: { readonly percentiles: ReadonlyMap<number, number> },
  hasAnswers: boolean,
): string {
  const ms = percentiles.get(99);
  return ms === undefined || !hasAnswers ? '' : `p99 ${formatMs(ms)}`;
}
