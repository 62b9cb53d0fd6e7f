import { formatTick, linearScale } from '../../../../src/bench/html/scale.ts';
import type { RequestRecord } from '../../../../src/bench/recorder.ts';
import { formatMs } from '../../format.ts';

const WIDTH = 1180;
const TOP = 8;
const LEFT = 40;
const RIGHT = WIDTH - 18;
/** Rows and ticks that a browser draws with ease. */
const MAX_ROWS = 200;
const MAX_TICKS = 60_000;

/** A row for each request: waiting for the first token as a thin line, then a tick for every token. */
export function Timeline({ records }: { readonly records: readonly RequestRecord[] }) {
  const rows = rowsOf(records);
  const rowHeight = rows.length > 60 ? 5 : rows.length > 20 ? 9 : 14;
  const bottom = TOP + rows.length * rowHeight;
  const lastMs = rows.reduce((most, { endMs }) => Math.max(most, endMs), 0);
  const x = linearScale(lastMs / 1000, [LEFT, RIGHT], { endsAtTick: false });
  const at = (ms: number) => Math.round(x.at(ms / 1000) * 10) / 10;
  const note = rows.length < records.length ? `, the first ${rows.length}` : '';
  return (
    <figure class="card plot timeline">
      <figcaption>Tokens of each request{note}</figcaption>
      <div class="timeline-scroll" tabIndex={0} role="region" aria-label="Tokens of each request">
        <svg viewBox={`0 0 ${WIDTH} ${bottom + 40}`} role="img" aria-label="A row for each request">
          {x.ticks.map((tick) => (
            <g key={tick}>
              <line class="grid" x1={x.at(tick)} x2={x.at(tick)} y1={TOP} y2={bottom} />
              <text x={x.at(tick)} y={bottom + 17} text-anchor="middle">
                {formatTick(tick)}
              </text>
            </g>
          ))}
          <line class="axis" x1={LEFT} x2={RIGHT} y1={bottom} y2={bottom} />
          {rows.map((record, index) => (
            <Row
              key={index}
              record={record}
              top={TOP + index * rowHeight}
              height={rowHeight}
              at={at}
            />
          ))}
          <text x={(LEFT + RIGHT) / 2} y={bottom + 35} text-anchor="middle">
            seconds
          </text>
        </svg>
      </div>
    </figure>
  );
}

interface RowProps {
  readonly record: RequestRecord;
  readonly top: number;
  readonly height: number;
  readonly at: (ms: number) => number;
}

function Row({ record, top, height, at }: RowProps) {
  const { sentMs, chunkMs, endMs, promptTokens, outputTokens, error } = record;
  const middle = top + height / 2;
  const first = chunkMs[0] ?? endMs;
  return (
    <g>
      <title>
        {error ??
          `${promptTokens} tokens in, ${outputTokens} out; first after ${formatMs(first - sentMs)}`}
      </title>
      <line
        class={error === null ? 'waiting' : 'waiting failed'}
        x1={at(sentMs)}
        x2={at(first)}
        y1={middle}
        y2={middle}
      />
      <path
        class="tokens"
        d={chunkMs.map((ms) => `M${at(ms)} ${top + 1}v${height - 2}`).join('')}
      />
    </g>
  );
}

function rowsOf(records: readonly RequestRecord[]): RequestRecord[] {
  const rows: RequestRecord[] = [];
  let numTicks = 0;
  for (const record of records.toSorted((a, b) => a.sentMs - b.sentMs)) {
    numTicks += record.chunkMs.length;
    if (rows.length === MAX_ROWS || (numTicks > MAX_TICKS && rows.length > 0)) break;
    rows.push(record);
  }
  return rows;
}
