import { formatMs, formatNumber, formatTime } from '../../format.ts';
import type { BenchResult } from './run-load.ts';

interface PastRunsProps {
  /** The newest first. */
  readonly results: readonly BenchResult[];
  readonly shown: BenchResult;
  readonly onShow: (result: BenchResult) => void;
}

/** The tests of this visit next to each other. */
export function PastRuns({ results, shown, onShow }: PastRunsProps) {
  return (
    <section aria-labelledby="past-runs">
      <h2 id="past-runs">Tests of this visit</h2>
      <div class="table" tabIndex={0} role="region" aria-label="Tests of this visit">
        <table>
          <thead>
            <tr>
              <th>When</th>
              <th>Model</th>
              <th>Load</th>
              <th class="number">Tokens/s</th>
              <th class="number">First token</th>
              <th class="number">Between tokens</th>
              <th class="number">Answered</th>
            </tr>
          </thead>
          <tbody>
            {results.map((result) => (
              <RunRow
                key={result.run.startedAt.getTime()}
                result={result}
                isShown={result === shown}
                onShow={onShow}
              />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

interface RunRowProps {
  readonly result: BenchResult;
  readonly isShown: boolean;
  readonly onShow: (result: BenchResult) => void;
}

function RunRow({ result, isShown, onShow }: RunRowProps) {
  const { run, plan, model } = result;
  const { metrics, records } = run;
  return (
    <tr aria-current={isShown}>
      <td>
        <button type="button" class="link" onClick={() => onShow(result)}>
          {formatTime(run.startedAt.getTime())}
        </button>
      </td>
      <td>{model}</td>
      <td class="soft">
        {plan.requests} × {plan.promptTokens} + {plan.outputTokens},{' '}
        {plan.rate === 0 ? `${plan.concurrency} at once` : `${plan.rate} a second`}
      </td>
      <td class="number">{formatNumber(metrics.outputThroughput)}</td>
      <td class="number">{formatMs(metrics.latencies.ttft.median)}</td>
      <td class="number">{formatMs(metrics.latencies.itl.median)}</td>
      <td class="number">
        {metrics.completed} of {records.length}
      </td>
    </tr>
  );
}
