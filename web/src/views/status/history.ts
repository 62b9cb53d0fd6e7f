/** The last hour, put together from what the server adds to it. */
import type { History, ServerStatus } from '../../api/status.ts';

const HOUR_MS = 3_600_000;

/** @param before whose history `next` goes on with; of a server that was started anew it is dropped */
export function withNewer(before: ServerStatus | null, next: ServerStatus): ServerStatus {
  // Clocks are set now and then, by less than a restart takes.
  const isSame = before !== null && Math.abs(before.started_at - next.started_at) < 1500;
  return isSame ? { ...next, history: joined(before.history, next.history) } : next;
}

function joined(before: History, next: History): History {
  const last = before.times.at(-1) ?? 0;
  const from = next.times.findIndex((time) => time > last);
  if (from < 0) return before;
  const times = [...before.times, ...next.times.slice(from)];
  const oldest = (times.at(-1) ?? 0) - HOUR_MS;
  const start = times.findIndex((time) => time > oldest);
  const series = Object.entries(next.series).map(([name, values]) => {
    const all = [...(before.series[name] ?? []), ...values.slice(from)];
    return [name, all.slice(start)] as const;
  });
  return { times: times.slice(start), series: Object.fromEntries(series) };
}
