/**
 * Interactive streams alone, next to a flood of batch requests of the same class, and next to the
 * same flood where the streams are `priority` and the flood is `flex`: p50, p95 and p99 of the time to
 * the first token and between tokens, and what the flood gets done meanwhile. The three alternate
 * within each round, on one server, so that what else the machine does weighs on all alike.
 *
 *   npm run build && npx tsx scripts/bench/scheduling/tiers.ts [--rounds 3] [--seconds 20]
 *     [--streams 4] [--flood 48] [--itl-ms 20] [--json] [-- serve flags]
 */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startServer } from '../../../test/support/server-process.ts';
import { timeEvents } from '../lib/event-stream.ts';
import { machineShape } from '../lib/machine.ts';
import { percentile } from '../lib/random.ts';
import { printTable } from '../lib/table.ts';
import { NO_DRAFTS } from '../lib/server-process.ts';

const { values, positionals } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '20' },
    streams: { type: 'string', default: '4' },
    flood: { type: 'string', default: '48' },
    'itl-ms': { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

const SCENARIOS = ['alone', 'flood without classes', 'flood with classes'] as const;
type Scenario = (typeof SCENARIOS)[number];

interface Record {
  readonly ttftMs: number[];
  readonly itlMs: number[];
  floodTokens: number;
  seconds: number;
}

const records = new Map<Scenario, Record>(
  SCENARIOS.map((name) => [name, { ttftMs: [], itlMs: [], floodTokens: 0, seconds: 0 }]),
);

const slo = `{best: interactive, classes: {interactive: {itl_ms: ${values['itl-ms']}}}}`;
const server = await startServer(['--slo', slo, '--max-queue', '1024', NO_DRAFTS, ...positionals]);
const endpoint = new URL('/v1/completions', server.url);
const agent = new Agent({ keepAlive: true });
let numSent = 0;

/** @returns when each of its tokens came, from its sending, in milliseconds */
async function complete(words: number, maxTokens: number, tier: string | null) {
  const startedAt = performance.now();
  // No two begin alike: otherwise the prefix cache would do the prompts.
  const prompt = `${numSent++} ${'Once there was a lift that never stopped. '.repeat(words / 8)}`;
  const body = {
    prompt,
    max_tokens: maxTokens,
    temperature: 0,
    ignore_eos: true,
    stream: true,
    ...(tier === null ? {} : { service_tier: tier }),
  };
  const times = await timeEvents(endpoint, agent, body);
  return times.map((time) => time - startedAt);
}

/** Somebody who reads each answer and asks again a while later. */
async function converse(until: number, tier: string | null, record: Record): Promise<void> {
  while (performance.now() < until) {
    const times = await complete(48, 48, tier);
    record.ttftMs.push(times[0] ?? NaN);
    for (let index = 1; index < times.length; index++) {
      record.itlMs.push((times[index] ?? NaN) - (times[index - 1] ?? NaN));
    }
    await sleep(100 + 400 * ((numSent * 0.618) % 1));
  }
}

async function flood(until: number, tier: string | null, record: Record): Promise<void> {
  while (performance.now() < until) {
    const { length } = await complete(64, 128, tier);
    record.floodTokens += length;
  }
}

async function run(scenario: Scenario): Promise<void> {
  const record = records.get(scenario);
  if (record === undefined) return;
  const hasClasses = scenario === 'flood with classes';
  const startedAt = performance.now();
  const until = startedAt + 1000 * Number(values.seconds);
  const flooding =
    scenario === 'alone'
      ? []
      : Array.from({ length: Number(values.flood) }, () =>
          flood(until, hasClasses ? 'flex' : null, record),
        );
  await sleep(scenario === 'alone' ? 0 : 1000);
  const streams = Array.from({ length: Number(values.streams) }, () =>
    converse(until, hasClasses ? 'priority' : null, record),
  );
  await Promise.all([...flooding, ...streams]);
  record.seconds += (performance.now() - startedAt) / 1000;
}

for (let round = 0; round < Number(values.rounds); round++) {
  for (const scenario of SCENARIOS) await run(scenario);
}
await server.stop();
agent.destroy();

const results = Array.from(records, ([scenario, { ttftMs, itlMs, floodTokens, seconds }]) => ({
  scenario,
  requests: ttftMs.length,
  ttftMs: quantilesOf(ttftMs),
  itlMs: quantilesOf(itlMs),
  floodTokensPerSecond: floodTokens / seconds,
}));

function quantilesOf(times: readonly number[]) {
  return {
    p50: percentile(times, 0.5),
    p95: percentile(times, 0.95),
    p99: percentile(times, 0.99),
  };
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), ...values, results }, null, 2));
} else {
  console.log(`${machineShape()}; ${values.streams} streams, flood of ${values.flood}\n`);
  const ms = (value: number) => value.toFixed(1);
  printTable(
    ['', 'TTFT p50', 'p95', 'p99', 'ITL p50', 'p95', 'p99', 'flood tokens/s'],
    results.map(({ scenario, ttftMs, itlMs, floodTokensPerSecond }) => [
      scenario,
      ...[ttftMs.p50, ttftMs.p95, ttftMs.p99, itlMs.p50, itlMs.p95, itlMs.p99].map(ms),
      floodTokensPerSecond.toFixed(0),
    ]),
  );
}
