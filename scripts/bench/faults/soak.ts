/**
 * A soak: mixed load for minutes (chats and completions, streamed and not, cancelled, dropped,
 * malformed) against summit. Checks at the end that nothing runs or waits, that the counters of
 * /metrics agree with what clients saw, that a greedy request still gives the text it gave at the
 * start, and how resident memory of both processes went.
 *
 *   npm run build && npx tsx scripts/bench/faults/soak.ts [--minutes 10] [--clients 24] [--json]
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { metric, post, stream } from '../../../test/support/http-client.ts';
import { childrenOf } from '../../../test/support/processes.ts';
import { machineShape } from '../lib/machine.ts';
import { Draws } from '../lib/random.ts';
import { startServer } from '../../../test/support/server-process.ts';
import { printTable } from '../lib/table.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    clients: { type: 'string', default: '24' },
    json: { type: 'boolean', default: false },
  },
});
// A KV cache that is full within the first minute: what grows after that is a leak.
// Drafts stay on: nothing is timed, and a soak is of the server as it is served.
const server = await startServer(['--log-level=error', '--kv-cache-memory=32MiB']);
const completions = `${server.url}/v1/completions`;
const chat = `${server.url}/v1/chat/completions`;
const probe = { prompt: 'Once upon a time', max_tokens: 100, ignore_eos: true, temperature: 0 };
const probeText = (await stream(completions, probe)).text;

const seen = { finished: 0, dropped: 0, malformed: 0, wrong: 0, tokens: 0 };

/** One request of a random kind. */
async function act(draws: Draws): Promise<void> {
  const kind = draws.integer(10);
  const body = {
    messages: [{ role: 'user', content: `Tell me a story about number ${draws.integer(1000)}.` }],
    max_tokens: 10 + draws.integer(200),
    ignore_eos: true,
    seed: draws.integer(1e6),
    user: `client ${draws.integer(4)}`,
  };
  if (kind === 0) {
    const response = await post(chat, { ...body, temperature: 'hot' });
    if (response.status !== 400) seen.wrong++;
    await response.text();
    seen.malformed++;
  } else if (kind <= 2) {
    const signal = AbortSignal.timeout(20 + draws.integer(400));
    await post(chat, { ...body, max_tokens: 1000, stream: true }, signal)
      .then((response) => response.text())
      .catch(() => {});
    seen.dropped++;
  } else if (kind <= 4) {
    const response = await post(chat, body);
    const { usage } = (await response.json()) as { usage?: { completion_tokens: number } };
    if (usage?.completion_tokens !== body.max_tokens) seen.wrong++;
    seen.tokens += body.max_tokens;
    seen.finished++;
  } else {
    const result = await stream(chat, body);
    if (!result.done || result.finishReason !== 'length') seen.wrong++;
    seen.tokens += body.max_tokens;
    seen.finished++;
  }
}

const deadline = performance.now() + Number(values.minutes) * 60_000;
const engine = childrenOf(server.child.pid)[0];
const memory: { minute: number; frontMiB: number; engineMiB: number }[] = [];

async function client(index: number): Promise<void> {
  const draws = new Draws(index);
  while (performance.now() < deadline) await act(draws);
}

async function watch(): Promise<void> {
  for (let minute = 0; performance.now() < deadline; minute += 0.5) {
    memory.push({
      minute,
      frontMiB: residentMiB(server.child.pid),
      engineMiB: residentMiB(engine),
    });
    await sleep(30_000);
  }
}

function residentMiB(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024);
}

await Promise.all([
  watch(),
  ...Array.from({ length: Number(values.clients) }, (_, i) => client(i)),
]);
await sleep(2000);
const after = {
  running: await metric(server.url, 'chairlift_num_requests_running'),
  waiting: await metric(server.url, 'chairlift_num_requests_waiting'),
  kvCacheUsage: await metric(server.url, 'chairlift_kv_cache_usage_perc'),
  finishedByMetrics: await metric(server.url, 'chairlift_e2e_request_latency_seconds_count'),
  crashes: await metric(server.url, 'chairlift_engine_crashes_total'),
  sameText: (await stream(completions, probe)).text === probeText,
};
memory.push({
  minute: Number(values.minutes),
  frontMiB: residentMiB(server.child.pid),
  engineMiB: residentMiB(engine),
});
await server.stop();
// The probe before the soak.
const isCounted = after.finishedByMetrics === seen.finished + 1;

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), seen, after, isCounted, memory }));
} else {
  console.log(`${machineShape()}; summit, ${values.clients} clients, ${values.minutes} minutes\n`);
  console.log({ ...seen, ...after, isCounted }, '\n');
  printTable(
    ['minute', 'front, MiB', 'engine, MiB'],
    memory
      .filter((_, index) => index % 2 === 0 || index === memory.length - 1)
      .map((m) => [String(m.minute), String(m.frontMiB), String(m.engineMiB)]),
  );
}
