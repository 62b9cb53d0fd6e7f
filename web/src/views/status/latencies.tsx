import type { Latency, ServerStatus } from '../../api/status.ts';
import { formatDuration, formatMs, formatNumber } from '../../format.ts';

/** In the order of a request's way, and what each is. */
const ROWS: readonly (readonly [name: string, title: string, what: string])[] = [
  ['ttft', 'First token', 'from arrival in the queue'],
  ['itl', 'Between tokens', 'from one token to the next'],
  ['e2e', 'Whole answer', 'from arrival to the last token'],
  ['receive', 'Receive', 'the body arrives'],
  ['tokenize', 'Tokenize', 'template and tokens'],
  ['queue', 'Queue', 'waits for a place'],
  ['prefill', 'Prefill', 'the prompt, to the first token'],
  ['decode', 'Decode', 'all other tokens'],
  ['detokenize', 'Detokenize', 'tokens to text, meanwhile'],
  ['send', 'Send', 'after the last token'],
];
const NUM_TOTALS = 3;

/** How long things took of late: what clients feel, then by stage. */
export function Latencies({ status }: { readonly status: ServerStatus }) {
  const { of, window_ms: windowMs } = status.latency;
  const slowest = Math.max(...Object.values(of).map(({ p99 }) => p99 ?? 0), 1);
  return (
    <section aria-labelledby="latencies">
      <h2 id="latencies">
        Latency <small class="soft">about the last {formatDuration(windowMs)}</small>
      </h2>
      <div class="table" tabIndex={0} role="region" aria-label="Latency by stage">
        <table class="latencies">
          <thead>
            <tr>
              <th>Stage</th>
              <th class="number">Median</th>
              <th class="number">p90</th>
              <th class="number">p99</th>
              <th class="bar-column">
                <SpreadScale slowest={slowest} />
              </th>
              <th class="number">Times</th>
            </tr>
          </thead>
          <tbody>
            {ROWS.map(([name, title, what], index) => (
              <tr key={name} class={index === NUM_TOTALS ? 'stages-begin' : ''}>
                <th scope="row">
                  {title} <small class="soft what">{what}</small>
                </th>
                <LatencyCells latency={of[name]} slowest={slowest} />
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function LatencyCells({ latency, slowest }: { latency: Latency | undefined; slowest: number }) {
  const { count = 0, p50 = null, p90 = null, p99 = null } = latency ?? {};
  return (
    <>
      {[p50, p90, p99].map((ms, index) => (
        <td key={index} class="number">
          {ms === null ? <span class="soft">–</span> : formatMs(ms)}
        </td>
      ))}
      <td class="bar-column">
        <Spread p50={p50} p99={p99} slowest={slowest} />
      </td>
      <td class="number soft">{formatNumber(count)}</td>
    </>
  );
}

const BAR = { width: 160, height: 14 };
/** Ten microseconds: all that is shorter begins at the left. */
const SHORTEST_MS = 0.01;

/** From the median to p99, on a scale where each step is ten times the one before. */
function Spread({
  p50,
  p99,
  slowest,
}: {
  readonly p50: number | null;
  readonly p99: number | null;
  readonly slowest: number;
}) {
  if (p50 === null || p99 === null) return null;
  const middle = BAR.height / 2;
  return (
    <svg class="spread" viewBox={`0 0 ${BAR.width} ${BAR.height}`} aria-hidden="true">
      {ticksOf(slowest).map((ms) => (
        <line
          key={ms}
          class="tick"
          x1={placeOf(ms, slowest)}
          x2={placeOf(ms, slowest)}
          y1="0"
          y2={BAR.height}
        />
      ))}
      <line class="base" x1="0" x2={BAR.width} y1={middle} y2={middle} />
      <line
        class="tail"
        x1={placeOf(p50, slowest)}
        x2={placeOf(p99, slowest)}
        y1={middle}
        y2={middle}
      />
      <circle cx={placeOf(p50, slowest)} cy={middle} r="3.5" />
    </svg>
  );
}

/** Scale of the bars below it. */
function SpreadScale({ slowest }: { readonly slowest: number }) {
  return (
    <svg class="spread-scale" viewBox={`0 0 ${BAR.width} 26`} aria-label="Median to p99">
      <text x="0" y="9">
        Median to p99
      </text>
      {ticksOf(slowest)
        .filter((_, index) => index % 2 === 0)
        .map((ms) => (
          <text key={ms} x={placeOf(ms, slowest)} y="23" text-anchor="middle">
            {formatMs(ms)}
          </text>
        ))}
    </svg>
  );
}

function placeOf(ms: number, slowest: number): number {
  const range = Math.log(slowest / SHORTEST_MS);
  return 2 + (BAR.width - 4) * (Math.log(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) / range);
}

/** Powers of ten. */
function ticksOf(slowest: number): number[] {
  const ticks: number[] = [];
  for (let ms = 0.1; ms <= slowest; ms *= 10) ticks.push(Number(ms.toPrecision(1)));
  return ticks;
}
