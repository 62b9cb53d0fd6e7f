import { formatNumber } from '../../format.ts';
import type { Bar } from './bars.ts';
import type { BatchSession } from './session.ts';
import type { Column } from './column.ts';
import { barFacts } from './words.ts';

/** Squares of the memory's picture; each stands for as many pages as it must. */
const MAX_SQUARES = 240;

/** About the step that is pointed at: its request, its numbers, the KV cache's memory, the queue. */
export function SidePanel({ session }: { readonly session: BatchSession }) {
  void session.panels.value;
  const { bar, column } = session;
  return (
    <aside class="batch-side" aria-label="This step">
      {column === undefined ? (
        <p class="soft">No step yet.</p>
      ) : (
        <>
          {bar !== undefined && <Request bar={bar} />}
          <Numbers column={column} />
          <Shown session={session} />
          <Memory column={column} />
          <Waiting session={session} column={column} />
        </>
      )}
    </aside>
  );
}

function Request({ bar }: { readonly bar: Bar }) {
  return (
    <section class="batch-request">
      <h2 title={bar.name}>{bar.name}</h2>
      <dl class="batch-numbers numbers">
        <dt>state</dt>
        <dd>{bar.state}</dd>
        {barFacts(bar).map(([name, value]) => [<dt key={name}>{name}</dt>, <dd>{value}</dd>])}
        {bar.class !== null && [<dt key="class">class</dt>, <dd>{bar.class}</dd>]}
      </dl>
    </section>
  );
}

function Numbers({ column: { event, cells } }: { readonly column: Column }) {
  const numRunning = cells.filter(({ work }) => work !== 'kept').length;
  const numTokens = cells.reduce((sum, { sampled }) => sum + sampled, 0);
  const ratio = event.predicted_ms > 0 ? event.run_ms / event.predicted_ms : null;
  return (
    <section>
      <h2>
        Step <span class="batch-step">{event.step}</span>
      </h2>
      <dl class="batch-numbers numbers">
        <dt>took</dt>
        <dd>{event.ms.toFixed(1)} ms</dd>
        <dt>of it the model</dt>
        <dd>{event.run_ms.toFixed(1)} ms</dd>
        <dt>expected</dt>
        <dd>
          {event.predicted_ms.toFixed(1)} ms{ratio === null ? '' : ` (${ratio.toFixed(2)}×)`}
        </dd>
        <dt>requests</dt>
        <dd>{numRunning}</dd>
        <dt>tokens written</dt>
        <dd>{numTokens}</dd>
      </dl>
    </section>
  );
}

/** Sums of all that is in the picture. */
function Shown({ session }: { readonly session: BatchSession }) {
  const { end, shownMs, instance, timeline } = session;
  const columns = timeline.columnsBetween(instance.value, end - shownMs, end);
  if (columns.length < 2) return null;
  let [tokens, places, ms] = [0, 0, 0];
  for (const { cells, event } of columns) {
    for (const { sampled, work } of cells) {
      tokens += sampled;
      if (work !== 'kept') places++;
    }
    ms += event.ms;
  }
  return (
    <section>
      <h2>In the picture</h2>
      <dl class="batch-numbers numbers">
        <dt>steps</dt>
        <dd>{formatNumber(columns.length)}</dd>
        <dt>requests in a step</dt>
        <dd>{formatNumber(places / columns.length)}</dd>
        <dt>tokens written</dt>
        <dd>{formatNumber(tokens)}</dd>
        <dt>while it computed</dt>
        <dd>{formatNumber((tokens * 1000) / ms)} tokens/s</dd>
      </dl>
    </section>
  );
}

/** Pages of running requests are full, those of kept texts striped, free ones empty. */
function Memory({ column: { event } }: { readonly column: Column }) {
  const [length, total, running, kept] = event.pages;
  const perSquare = Math.max(1, Math.ceil(total / MAX_SQUARES));
  const numSquares = Math.ceil(total / perSquare);
  const numRunning = Math.ceil(running / perSquare);
  const numKept = Math.round(kept / perSquare);
  const kindOf = (square: number) => {
    if (square < numRunning) return 'running';
    return square < numRunning + numKept ? 'kept' : 'free';
  };
  const words = `${running} of ${total} pages are in use, ${kept} are kept, ${total - running - kept} are free`;
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
        <p class="soft small">It is empty.</p>
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
