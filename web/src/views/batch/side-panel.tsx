import type { BatchSession } from './session.ts';
import type { Column } from './timeline.ts';

/** Squares of the memory's picture; each stands for as many pages as it must. */
const MAX_SQUARES = 240;

/** What belongs to the step that is pointed at: its numbers, the KV cache's memory, who waits. */
export function SidePanel({ session }: { readonly session: BatchSession }) {
  void session.panels.value;
  const { column } = session;
  if (column === undefined) {
    return (
      <aside class="batch-side" aria-label="This step">
        <p class="soft">No step yet: nothing runs.</p>
      </aside>
    );
  }
  return (
    <aside class="batch-side" aria-label="This step">
      <Numbers column={column} />
      <Memory column={column} />
      <Waiting session={session} column={column} />
    </aside>
  );
}

function Numbers({ column: { event, cells } }: { readonly column: Column }) {
  const numRunning = cells.filter(({ work }) => work !== 'kept').length;
  const numTokens = cells.reduce((sum, { sampled }) => sum + sampled, 0);
  const ratio = event.predicted_ms > 0 ? event.run_ms / event.predicted_ms : null;
  return (
    <dl class="batch-numbers numbers">
      <dt>Step</dt>
      <dd>{event.step}</dd>
      <dt>Took</dt>
      <dd>{event.ms.toFixed(1)} ms</dd>
      <dt>Model’s runs</dt>
      <dd>{event.run_ms.toFixed(1)} ms</dd>
      <dt>Expected</dt>
      <dd>
        {event.predicted_ms.toFixed(1)} ms{ratio === null ? '' : ` (${ratio.toFixed(2)}×)`}
      </dd>
      <dt>Requests</dt>
      <dd>{numRunning}</dd>
      <dt>Tokens made</dt>
      <dd>{numTokens}</dd>
    </dl>
  );
}

/** Pages of running requests are full, those of kept texts striped, free ones empty. */
function Memory({ column: { event } }: { readonly column: Column }) {
  const [length, total, running, kept] = event.pages;
  const perSquare = Math.max(1, Math.ceil(total / MAX_SQUARES));
  const numSquares = Math.ceil(total / perSquare);
  const numRunning = Math.round(running / perSquare);
  const numKept = Math.round(kept / perSquare);
  const kindOf = (square: number) => {
    if (square < numRunning) return 'running';
    return square < numRunning + numKept ? 'kept' : 'free';
  };
  const words = `${running} of ${total} pages run, ${kept} are kept, ${total - running - kept} free`;
  return (
    <section>
      <h2>KV memory</h2>
      <div class="batch-pages" role="img" aria-label={words}>
        {Array.from({ length: numSquares }, (_, square) => (
          <i key={square} class={kindOf(square)} />
        ))}
      </div>
      <p class="soft small">
        {words}. A page is {length} tokens{perSquare > 1 ? `, a square ${perSquare} pages` : ''}.
      </p>
    </section>
  );
}

function Waiting({ session, column }: { readonly session: BatchSession; readonly column: Column }) {
  const { event, queue } = column;
  const next = event.waiting.map((id) => ({
    id,
    request: session.timeline.request(event.instance, id),
  }));
  const numWaiting = event.num_waiting + (queue?.num_waiting ?? 0);
  const shown = next.length + (queue?.requests.length ?? 0);
  return (
    <section>
      <h2>Queue</h2>
      {numWaiting === 0 ? (
        <p class="soft small">Nobody waits.</p>
      ) : (
        <ol class="batch-queue">
          {next.map(({ id, request }) => (
            <li key={id}>
              <span>{request?.request_id ?? id}</span>
              <span class="badge">{request?.class ?? 'next'}</span>
              <span class="soft">in the engine</span>
            </li>
          ))}
          {queue?.requests.map((request, place) => (
            <li key={`${request.request_id} ${place}`}>
              <span>{request.request_id}</span>
              <span class="badge">{request.class ?? ''}</span>
              <span class="soft numbers">{(request.waited_ms / 1000).toFixed(1)} s</span>
            </li>
          ))}
        </ol>
      )}
      {numWaiting > shown && <p class="soft small">and {numWaiting - shown} more</p>}
    </section>
  );
}
