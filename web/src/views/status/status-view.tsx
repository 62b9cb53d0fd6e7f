import './status.css';
import { reasonOf } from '../../api/connection.ts';
import { askForKey } from '../../api/key.ts';
import { ServerError } from '../../api/request.ts';
import type { ServerStatus } from '../../api/status.ts';
import { formatDuration } from '../../format.ts';
import { Configuration } from './configuration.tsx';
import { Errors } from './errors.tsx';
import { Latencies } from './latencies.tsx';
import { Models } from './models.tsx';
import { Tiles } from './tiles.tsx';
import { useStatus } from './use-status.ts';

/** How the server is, and how it was in the last hour. */
export default function StatusView() {
  const { status, failure, refresh } = useStatus();
  return (
    <div class="view status-view">
      <h1>Status</h1>
      {failure !== null && <Failure failure={failure} onRetry={refresh} />}
      {status !== null && (
        <>
          <Facts status={status} />
          <Tiles status={status} />
          <Models status={status} onChange={refresh} />
          <Latencies status={status} />
          <Errors status={status} />
          <Configuration />
        </>
      )}
    </div>
  );
}

function Facts({ status }: { readonly status: ServerStatus }) {
  const { version, node, now, started_at: startedAt, event_loop_stalled_ms: stalledMs } = status;
  return (
    <p class="soft">
      Chairlift {version} on Node.js {node.replace('v', '')}, up for{' '}
      {formatDuration(now - startedAt)}
      {status.is_leaving && <span class="badge bad">shutting down</span>}
      {stalledMs > 1000 && (
        <span class="badge bad">event loop blocked for {formatDuration(stalledMs)} recently</span>
      )}
    </p>
  );
}

interface FailureProps {
  readonly failure: Error;
  readonly onRetry: () => void;
}

function Failure({ failure, onRetry }: FailureProps) {
  const status = failure instanceof ServerError ? failure.status : null;
  if (status !== 401 && status !== 403) {
    return (
      <p class="card failure" role="alert">
        {reasonOf(failure)} Below is what it said last.
      </p>
    );
  }
  return (
    <div class="card failure" role="alert">
      <p>This view is for the operator of the server. {failure.message}</p>
      <div class="actions">
        <button type="button" onClick={onRetry}>
          Try again
        </button>
        <button type="button" class="primary" onClick={() => askForKey('The admin key is needed.')}>
          Enter the admin key
        </button>
      </div>
    </div>
  );
}
