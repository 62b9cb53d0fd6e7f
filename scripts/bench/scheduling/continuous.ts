/**
 * Continuous against static batching: the same engine on the same trace, once given all requests and once
 * a batch at a time, where rows that are done cost nothing more; and, with --padded,
 * as a plain generate() call batches: every row is computed until the longest of its batch is done.
 * Lognormal lengths of prompts and outputs as in ShareGPT, by default halved; all requests are there
 * from the start.
 *
 *   npx tsx scripts/bench/scheduling/continuous.ts [--requests 192] [--rows 32] [--scale 0.5]
 *     [--rounds 1] [--precision int8] [--padded] [--json]
 */
import { parseArgs } from 'node:util';
import { SHAREGPT_MEANS } from '../../../src/bench/lengths.ts';
import { PRECISIONS } from '../../../src/model/manifest.ts';
import { engineRequest } from '../../../test/support/engine-requests.ts';
import { type Arrival, openBenchEngine, serve } from '../lib/engine-driver.ts';
import { machineShape } from '../lib/machine.ts';
import { Draws, percentile } from '../lib/random.ts';
import { median, printTable } from '../lib/table.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '192' },
    rows: { type: 'string', default: '32' },
    scale: { type: 'string', default: '0.5' },
    rounds: { type: 'string', default: '1' },
    precision: { type: 'string', default: 'fp32' },
    padded: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const precision = PRECISIONS.find((name) => name === values.precision) ?? 'fp32';
const numRows = Number(values.rows);
const draws = new Draws(7);
/** Standard deviation of the logarithm of ShareGPT's lengths; see src/bench/lengths.ts. */
const SIGMA = 1;
const drawLength = (mean: number) => {
  const middle = mean * Number(values.scale) * Math.exp(-(SIGMA ** 2) / 2);
  return draws.lognormal(middle, SIGMA, 4, 1000);
};
const trace: Arrival[] = Array.from({ length: Number(values.requests) }, (_, index) => ({
  atMs: 0,
  request: engineRequest({
    id: index + 1,
    promptTokenIds: draws.tokenIds(drawLength(SHAREGPT_MEANS.input)),
    maxTokens: drawLength(SHAREGPT_MEANS.output),
  }),
}));
const outputTokens = trace.reduce((sum, { request }) => sum + request.maxTokens, 0);

/** The trace with every output as long as the longest of its batch: batches are taken in order. */
function paddedTrace(): Arrival[] {
  return trace.map(({ atMs, request }, index) => {
    const first = index - (index % numRows);
    const batch = trace.slice(first, first + numRows);
    const maxTokens = Math.max(...batch.map((arrival) => arrival.request.maxTokens));
    return { atMs, request: { ...request, maxTokens } };
  });
}

const MODES = {
  continuous: { batchSize: null, arrivals: trace },
  static: { batchSize: numRows, arrivals: trace },
  padded: { batchSize: numRows, arrivals: paddedTrace() },
} as const;
type Mode = keyof typeof MODES;
const modes: Mode[] = values.padded ? ['continuous', 'static', 'padded'] : ['continuous', 'static'];

interface Run {
  readonly mode: Mode;
  readonly tokensPerSecond: number;
  readonly ttftP50: number;
  readonly ttftP99: number;
}

async function run(mode: Mode): Promise<Run> {
  const { batchSize, arrivals } = MODES[mode];
  const opened = await openBenchEngine({ maxNumSeqs: numRows }, precision);
  const start = performance.now();
  const served = await serve(opened, arrivals, batchSize);
  const seconds = (performance.now() - start) / 1000;
  opened.decoder.release();
  const ttfts = [...served.values()].map(({ ttftMs }) => ttftMs);
  return {
    mode,
    tokensPerSecond: outputTokens / seconds,
    ttftP50: percentile(ttfts, 0.5),
    ttftP99: percentile(ttfts, 0.99),
  };
}

const runs: Run[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  for (const mode of modes) runs.push(await run(mode));
}
const of = (mode: Mode, field: 'tokensPerSecond' | 'ttftP50' | 'ttftP99') =>
  median(runs.filter((r) => r.mode === mode).map((r) => r[field]));

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), outputTokens, runs }));
} else {
  console.log(
    `${machineShape()}; ${precision}, ${trace.length} requests, ${outputTokens} output tokens, ${numRows} rows\n`,
  );
  const row = (name: string, field: 'tokensPerSecond' | 'ttftP50' | 'ttftP99') => [
    name,
    ...modes.map((mode) => of(mode, field).toFixed(0)),
    ...modes.slice(1).map((mode) => `${(of('continuous', field) / of(mode, field)).toFixed(2)}x`),
  ];
  printTable(
    ['', ...modes, ...modes.slice(1).map((mode) => `to ${mode}`)],
    [
      row('output tokens/s', 'tokensPerSecond'),
      row('TTFT p50, ms', 'ttftP50'),
      row('TTFT p99, ms', 'ttftP99'),
    ],
  );
}
