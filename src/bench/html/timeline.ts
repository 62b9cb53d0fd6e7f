import type { RequestRecord } from '../recorder.ts';
import { escapeHtml } from './escape.ts';
import { formatTick, linearScale } from './scale.ts';

const WIDTH = 1180;
const MARGIN = { top: 8, right: 18, bottom: 40, left: 62 } as const;

/** Rows and ticks that a browser draws with ease. */
const MAX_ROWS = 200;
const MAX_TICKS = 60_000;

/**
 * A row for each request, in the order of sending: waiting for the first token as a thin line, then a
 * tick for every piece of the answer.
 */
export function timeline(records: readonly RequestRecord[]): string {
  const rows = selectRows(records);
  const rowHeight = rows.length > 60 ? 5 : rows.length > 20 ? 9 : 14;
  const bottom = MARGIN.top + rows.length * rowHeight;
  const height = bottom + MARGIN.bottom;
  const right = WIDTH - MARGIN.right;
  const lastMs = rows.reduce((most, { endMs }) => Math.max(most, endMs), 0);
  const x = linearScale(lastMs / 1000, [MARGIN.left, right], { endsAtTick: false });
  const at = (ms: number) => Math.round(x.at(ms / 1000) * 10) / 10;
  const grid = x.ticks.map((tick) => {
    const px = x.at(tick);
    return (
      `<line class="grid" x1="${px}" x2="${px}" y1="${MARGIN.top}" y2="${bottom}"/>` +
      `<text class="tick" x="${px}" y="${bottom + 17}" text-anchor="middle">${formatTick(tick)}</text>`
    );
  });
  const bars = rows.map((record, index) => {
    const top = MARGIN.top + index * rowHeight;
    return requestRow(record, top, rowHeight, at);
  });
  const note =
    rows.length < records.length ? ` (the first ${rows.length} of ${records.length} requests)` : '';
  return [
    `<figure class="wide"><figcaption>Tokens of each request${note}</figcaption>`,
    `<ul class="legend"><li><span class="key" style="border-top:2px solid var(--faint)"></span>waiting for the first token</li>`,
    `<li><span class="key tokens"></span>tokens</li><li><span class="key failed"></span>failed</li></ul>`,
    `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Tokens of each request">`,
    ...grid,
    `<line class="axis" x1="${MARGIN.left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>`,
    ...bars,
    `<text class="label" x="${(MARGIN.left + right) / 2}" y="${height - 5}" text-anchor="middle">seconds</text>`,
    `<text class="label" transform="translate(13 ${(MARGIN.top + bottom) / 2}) rotate(-90)" text-anchor="middle">requests</text>`,
    '</svg></figure>',
  ].join('\n');
}

function selectRows(records: readonly RequestRecord[]): RequestRecord[] {
  const rows: RequestRecord[] = [];
  let ticks = 0;
  for (const record of [...records].sort((a, b) => a.sentMs - b.sentMs)) {
    ticks += record.chunkMs.length;
    if (rows.length === MAX_ROWS || (ticks > MAX_TICKS && rows.length > 0)) break;
    rows.push(record);
  }
  return rows;
}

function requestRow(
  { sentMs, chunkMs, endMs, promptTokens, outputTokens, error }: RequestRecord,
  top: number,
  rowHeight: number,
  at: (ms: number) => number,
): string {
  const middle = top + rowHeight / 2;
  const length = rowHeight - 2;
  const first = chunkMs[0] ?? endMs;
  const ticks = chunkMs.map((ms) => `M${at(ms)} ${top + 1}v${length}`).join('');
  const tip =
    error ??
    `${promptTokens} tokens in, ${outputTokens} out; first after ${Math.round(first - sentMs)} ms`;
  const waiting = `<line class="waiting${error === null ? '' : ' failed'}" x1="${at(sentMs)}" x2="${at(first)}" y1="${middle}" y2="${middle}"/>`;
  const tokens = ticks === '' ? '' : `<path class="token" d="${ticks}"/>`;
  return `<g><title>${escapeHtml(tip)}</title>${waiting}${tokens}</g>`;
}
