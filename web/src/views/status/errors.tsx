import type { ServerStatus, Trouble } from '../../api/status.ts';
import { formatDuration, formatNumber } from '../../format.ts';

/** Errors of late: the server's failures, then what it refused. */
export function Errors({ status }: { readonly status: ServerStatus }) {
  const { failures, refusals } = status.errors;
  return (
    <section aria-labelledby="errors">
      <h2 id="errors">Errors</h2>
      {failures.length === 0 ? (
        <p class="soft">Nothing has failed since the server started.</p>
      ) : (
        <TroubleTable label="Failures" troubles={failures} now={status.now} />
      )}
      {refusals.length > 0 && (
        <details class="refusals">
          <summary>
            {refusals.length} {refusals.length === 1 ? 'kind' : 'kinds'} of refused requests
          </summary>
          <TroubleTable label="Refusals" troubles={refusals} now={status.now} />
        </details>
      )}
    </section>
  );
}

interface TroubleTableProps {
  readonly label: string;
  readonly troubles: readonly Trouble[];
  readonly now: number;
}

function TroubleTable({ label, troubles, now }: TroubleTableProps) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th>What</th>
            <th>Why</th>
            <th>Model</th>
            <th>Client</th>
            <th class="number">Times</th>
            <th class="number">Last</th>
          </tr>
        </thead>
        <tbody>
          {troubles.map((trouble) => (
            <tr
              key={JSON.stringify([trouble.what, reasonOf(trouble), trouble.model, trouble.client])}
            >
              <td>
                <code>{trouble.what}</code>
              </td>
              <td>{reasonOf(trouble)}</td>
              <td>{trouble.model ?? ''}</td>
              <td>{trouble.client ?? ''}</td>
              <td class="number">{formatNumber(trouble.count)}</td>
              <td class="number">{formatDuration(Math.max(0, now - trouble.last_at))} ago</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function reasonOf({ status, code }: Trouble): string {
  // Its head was sent before it failed.
  if (status === 200) return 'broke off';
  return [status, code].filter((part) => part !== null).join(' ');
}
