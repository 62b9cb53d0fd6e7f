/** Describes in words what is pointed at. */
import { formatMs } from '../../format.ts';
import type { Bar } from './bars.ts';
import { describeCell } from './cell.ts';
import type { BatchSession } from './session.ts';
import type { Column } from './column.ts';

export function describeTimes({ event }: Column): string {
  return `${event.ms.toFixed(1)} ms, ${event.predicted_ms.toFixed(1)} ms expected`;
}

export function describeCursor(session: BatchSession): string {
  const { column, cursor, mode } = session;
  if (cursor.value === null) return '';
  if (column === undefined) return 'No step.';
  const step = `Step ${column.event.step}: ${describeTimes(column)}.`;
  const { row } = cursor.value;
  if (row === null) return step;
  if (mode.value === 'slots') return `${step} Slot ${row}: ${describeSlot(session, column, row)}.`;
  const bar = session.bar ?? barAt(session, column, row);
  return bar === undefined ? step : `${describeBar(bar, column)} ${step}`;
}

/** The request of a row in a step. */
export function barAt(session: BatchSession, { from, to }: Column, row: number): Bar | undefined {
  const { instance, timeline } = session;
  return timeline.bars.between(instance.value, from, to).findLast(({ lane }) => lane === row);
}

function describeBar(bar: Bar, column: Column): string {
  const cell = column.cells.find(({ request }) => request === bar.id);
  const slot = cell === undefined ? '' : ` In slot ${cell.slot}: ${describeCell(cell)}.`;
  const ofClass = bar.class === null ? '' : ` (${bar.class})`;
  return `Request ${bar.name}${ofClass}, ${bar.state}: ${barFacts(bar)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')}.${slot}`;
}

/** Facts of a request: what it was asked, and how long it took. */
export function barFacts(bar: Bar): (readonly [name: string, value: string])[] {
  const { arrivedAt, startedAt, firstTokenAt, lastAt, outputTokens, promptTokens } = bar;
  const between = (from: number | null, to: number | null) =>
    from === null || to === null ? null : formatMs(Math.max(0, to - from));
  const waited = between(arrivedAt, startedAt);
  const prefill = between(startedAt, firstTokenAt);
  const decodeMs = firstTokenAt === null ? 0 : (lastAt ?? 0) - firstTokenAt;
  const rate = decodeMs > 0 && outputTokens > 1 ? ((outputTokens - 1) * 1000) / decodeMs : null;
  const cached = bar.cachedTokens > 0 ? `, ${bar.cachedTokens} cached` : '';
  const facts: (readonly [string, string | null])[] = [
    ['waited', waited],
    ['prompt', `${promptTokens} tokens${cached}`],
    ['prefill', prefill],
    ['written', `${outputTokens} of ${bar.maxTokens} tokens`],
    ['rate', rate === null ? null : `${rate.toFixed(1)} tokens/s`],
    ['lost its slot', bar.gaveUp.length === 0 ? null : `${bar.gaveUp.length} times`],
  ];
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
}

function describeSlot(session: BatchSession, column: Column, slot: number): string {
  const { instance } = column.event;
  const cell = column.cells.find((each) => each.slot === slot);
  const sentBack = column.event.sent_back.find((each) => each[1] === slot);
  const gaveUp = sentBack
    ? `request ${session.timeline.request(instance, sentBack[0])?.request_id ?? sentBack[0]} lost it ` +
      `${sentBack[2] === 0 ? 'because memory was short' : 'to a better class'}; `
    : '';
  if (cell === undefined) return `${gaveUp}idle`;
  const request = session.timeline.request(instance, cell.request);
  const name = cell.request === 0 ? '' : `, request ${request?.request_id ?? cell.request}`;
  const ofClass = request?.class ? `, ${request.class}` : '';
  return `${gaveUp}${describeCell(cell)}${name}${ofClass}`;
}
