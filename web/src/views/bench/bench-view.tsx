import './bench.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../../components/icon.tsx';
import { ModelSelect } from '../../components/model-select.tsx';
import { PastRuns } from './past-runs.tsx';
import { type BenchPlan, DEFAULT_PLAN, MOST_SECONDS } from './plan.ts';
import { PlanForm } from './plan-form.tsx';
import { Progress } from './progress.tsx';
import { Report } from './report.tsx';
import { type BenchProgress, type BenchResult, runLoad } from './run-load.ts';

/** Results that are kept until the page is left. */
const MAX_RESULTS = 10;

/** A short load test of this server, from this browser. */
export default function BenchView() {
  const [model, setModel] = useState<string | null>(null);
  const [plan, setPlan] = useState<BenchPlan>(DEFAULT_PLAN);
  const [progress, setProgress] = useState<BenchProgress | null>(null);
  const [running, setRunning] = useState<AbortController | null>(null);
  const [results, setResults] = useState<readonly BenchResult[]>([]);
  const [shown, setShown] = useState<BenchResult | null>(null);
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
      const result = await runLoad(plan, model, setProgress, controller.signal);
      setResults((before) => [result, ...before].slice(0, MAX_RESULTS));
      setShown(result);
    } catch (error) {
      if (!controller.signal.aborted)
        setFailure(error instanceof Error ? error.message : String(error));
    } finally {
      setRunning(null);
    }
  };

  return (
    <div class="view bench-view">
      <h1>Load test</h1>
      <p class="soft">
        Sends requests from this browser over one WebSocket and follows every token. Random prompts
        that no cache knows, answers of full length, at most {MOST_SECONDS} seconds. Others on this
        server feel it. For long tests, take <code>chairlift bench</code>.
      </p>
      <div class="card">
        <label class="field model-field">
          Model
          <ModelSelect value={model} onChange={setModel} />
        </label>
        <PlanForm plan={plan} isRunning={running !== null} onChange={setPlan} />
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
      {running !== null && <Progress progress={progress} numRequests={plan.requests} />}
      {shown !== null && <Report result={shown} />}
      {shown !== null && results.length > 1 && (
        <PastRuns results={results} shown={shown} onShow={setShown} />
      )}
    </div>
  );
}
