import './bench.css';
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { reasonOf } from '../../api/connection.ts';
import { Icon } from '../../components/icon.tsx';
import { ModelSelect } from '../../components/model-select.tsx';
import { PastRuns } from './past-runs.tsx';
import { type BenchPlan, DEFAULT_PLAN, MOST_SECONDS } from './plan.ts';
import { PlanForm } from './plan-form.tsx';
import { Progress } from './progress.tsx';
import { Report } from './report.tsx';
import { type BenchProgress, type BenchResult, runLoad } from './run-load.ts';

const MAX_RESULTS = 10;
/** Kept until the page is left, whatever view is open. */
const results = signal<readonly BenchResult[]>([]);
const shown = signal<BenchResult | null>(null);
const plan = signal<BenchPlan>(DEFAULT_PLAN);

/** A short load test of this server, from this browser. */
export default function BenchView() {
  const [model, setModel] = useState<string | null>(null);
  const [progress, setProgress] = useState<BenchProgress | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const current = useRef(running);
  current.current = running;
  // Whoever leaves the view stops the test, and with it the server's work.
  useEffect(() => () => current.current?.abort(), []);

  const start = async () => {
    if (model === null) return;
    const controller = new AbortController();
    setRunning(controller);
    setProgress(null);
    setFailure(null);
    try {
      const result = await runLoad(plan.peek(), model, setProgress, controller.signal);
      results.value = [result, ...results.peek()].slice(0, MAX_RESULTS);
      shown.value = result;
    } catch (error) {
      if (!controller.signal.aborted) setFailure(reasonOf(error));
    } finally {
      setRunning(null);
    }
  };

  return (
    <div class="view bench-view">
      <h1>Load test</h1>
      <p class="soft">
        Sends requests from this browser over one WebSocket and follows every token: random prompts
        that no cache knows, answers of full length, at most {MOST_SECONDS} seconds. It slows down
        other users of this server. For long tests use <code>chairlift bench</code>.
      </p>
      <div class="card">
        <label class="field model-field">
          Model
          <ModelSelect value={model} onChange={setModel} />
        </label>
        <PlanForm
          plan={plan.value}
          isRunning={running !== null}
          onChange={(change) => (plan.value = change(plan.peek()))}
        />
        {running === null ? (
          <button
            type="button"
            class="primary"
            disabled={model === null}
            onClick={() => void start()}
          >
            <Icon name="play" /> Start
          </button>
        ) : (
          <button type="button" onClick={() => running.abort()}>
            <Icon name="stop" /> Stop
          </button>
        )}
      </div>
      {failure !== null && (
        <p class="bad-text" role="alert">
          {failure}
        </p>
      )}
      {running !== null && <Progress progress={progress} numRequests={plan.value.requests} />}
      {shown.value !== null && <Report result={shown.value} />}
      {shown.value !== null && results.value.length > 1 && (
        <PastRuns
          results={results.value}
          shown={shown.value}
          onShow={(result) => (shown.value = result)}
        />
      )}
    </div>
  );
}
