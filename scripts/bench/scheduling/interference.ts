/**
 * Eight streams decode while a prompt of 1,500 tokens arrives: their inter-token latency undisturbed,
 * with chunked prefill (the default target), and with the prompt in one chunk. The time span is that
 * of the prompt's prefill; modes take turns.
 *
 *   npx tsx scripts/bench/scheduling/interference.ts [--prompt 1500] [--rounds 3] [--precision int8] [--json]
 */
import { parseArgs } from 'node:util';
import { PRECISIONS } from '../../../src/model/manifest.ts';
import { engineRequest } from '../../../test/support/engine-requests.ts';
import { interTokenMs, openBenchEngine, serve } from '../lib/engine-driver.ts';
import { machineShape } from '../lib/machine.ts';
import { Draws, percentile } from '../lib/random.ts';
import { median, printTable } from '../lib/table.ts';

const { values } = parseArgs({
  options: {
    prompt: { type: 'string', default: '1500' },
    rounds: { type: 'string', default: '3' },
    precision: { type: 'string', default: 'fp32' },
    json: { type: 'boolean', default: false },
  },
});
const precision = PRECISIONS.find((name) => name === values.precision) ?? 'fp32';
const PROMPT_ID = 100;
const ARRIVES_MS = 2000;

const modes = {
  undisturbed: {},
  chunked: {},
  'one chunk': { targetItlMs: 1e9, maxNumBatchedTokens: 4096 },
} as const;
type Mode = keyof typeof modes;

interface Round {
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
  readonly promptTtft: number;
}

async function round(mode: Mode, seed: number): Promise<Round> {
  const draws = new Draws(seed);
  const opened = await openBenchEngine(modes[mode], precision);
  const streams = Array.from({ length: 8 }, (_, index) => ({
    atMs: 0,
    request: engineRequest({
      id: index + 1,
      promptTokenIds: draws.tokenIds(64),
      // Long enough to be decoding for as long as the prefill takes.
      maxTokens: 400,
    }),
  }));
  const long = engineRequest({
    id: PROMPT_ID,
    promptTokenIds: draws.tokenIds(Number(values.prompt)),
    maxTokens: 2,
  });
  const arrivals = mode === 'undisturbed' ? [] : [{ atMs: ARRIVES_MS, request: long }];
  const served = await serve(opened, [...streams, ...arrivals]);
  opened.decoder.release();
  const promptTtft = served.get(PROMPT_ID)?.ttftMs ?? 0;
  served.delete(PROMPT_ID);
  const until = mode === 'undisturbed' ? ARRIVES_MS + 4000 : ARRIVES_MS + promptTtft;
  const gaps = interTokenMs(served.values(), ARRIVES_MS, until);
  return {
    p50: percentile(gaps, 0.5),
    p95: percentile(gaps, 0.95),
    max: Math.max(...gaps),
    promptTtft,
  };
}

const names = Object.keys(modes) as Mode[];
const rounds = new Map<Mode, Round[]>(names.map((mode) => [mode, []]));
for (let index = 0; index < Number(values.rounds); index++) {
  for (const mode of names) rounds.get(mode)?.push(await round(mode, index));
}
const of = (mode: Mode, field: keyof Round) =>
  median((rounds.get(mode) ?? []).map((result) => result[field]));

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), rounds: Object.fromEntries(rounds) }));
} else {
  console.log(`${machineShape()}; ${precision}, 8 streams, a prompt of ${values.prompt} tokens\n`);
  printTable(
    ['', 'ITL p50, ms', 'p95', 'max', 'p95 ratio', "the prompt's TTFT, ms"],
    names.map((mode) => [
      mode,
      of(mode, 'p50').toFixed(1),
      of(mode, 'p95').toFixed(1),
      of(mode, 'max').toFixed(0),
      `${(of(mode, 'p95') / of('undisturbed', 'p95')).toFixed(2)}x`,
      mode === 'undisturbed' ? '' : of(mode, 'promptTtft').toFixed(0),
    ]),
  );
}
