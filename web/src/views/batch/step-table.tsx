import { describeCell } from './cell.ts';
import type { BatchSession } from './session.ts';
import { describeTimes } from './words.ts';

/** The step that is pointed at, or the last one, in words. */
export function StepTable({ session }: { readonly session: BatchSession }) {
  void session.panels.value;
  const { column } = session;
  if (column === undefined) return <p class="soft">No step yet.</p>;
  const { event } = column;
  const cells = column.cells.toSorted((a, b) => a.slot - b.slot);
  return (
    <div class="table" tabIndex={0} role="region" aria-label={`Step ${event.step}`}>
      <table data-step={event.step}>
        <caption class="hidden-text">
          Step {event.step}: {describeTimes(column)}
        </caption>
        <thead>
          <tr>
            <th scope="col">Slot</th>
            <th scope="col">Request</th>
            <th scope="col">Class</th>
            <th scope="col">What it did</th>
            <th scope="col" class="number">
              Tokens written
            </th>
            <th scope="col" class="number">
              Pages
            </th>
          </tr>
        </thead>
        <tbody>
          {cells.map((cell) => {
            const request = session.timeline.request(event.instance, cell.request);
            return (
              <tr key={cell.slot}>
                <th scope="row" class="number">
                  {cell.slot}
                </th>
                <td>{cell.request === 0 ? '' : (request?.request_id ?? cell.request)}</td>
                <td>{request?.class ?? ''}</td>
                <td>{describeCell(cell)}</td>
                <td class="number">{cell.sampled}</td>
                <td class="number">{cell.pages}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
