/**
 * A batch of many lines on summit: how many lines and tokens a second against the same requests sent
 * online by as many connections as there are slots; then the same batch with kills of the engine and
 * of the server in it: every line must have one result. Somebody chats meanwhile: time to the first
 * token and between tokens beside the batch, and alone.
 *
 *   npm run build && npx tsx scripts/bench/batch-jobs.ts [--lines 10000] [--online 1000]
 *     [--max-tokens 16] [--kills 3] [--json] [-- serve flags]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import OpenAI, { toFile } from 'openai';
import { killNow } from '../../test/support/processes.ts';
import { engineOf, type ServerProcess, startServer } from '../../test/support/server-process.ts';
import { timeEvents } from './lib/event-stream.ts';
import { machineShape } from './lib/machine.ts';
import { percentile } from './lib/random.ts';
import { NO_DRAFTS } from './lib/server-process.ts';

const { values, positionals } = parseArgs({
  options: {
    lines: { type: 'string', default: '10000' },
    online: { type: 'string', default: '1000' },
    'max-tokens': { type: 'string', default: '16' },
    kills: { type: 'string', default: '3' },
    json: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});

const folder = await mkdtemp(join(tmpdir(), 'batch-jobs-'));
const flags = [
  NO_DRAFTS,
  ...['--batch-dir', join(folder, 'batches'), '--port', '0'],
  ...['--slo', '{best: interactive}', ...positionals],
];
const agent = new Agent({ keepAlive: true });
const numLines = Number(values.lines);
const maxTokens = Number(values['max-tokens']);

function requestOf(index: number) {
  return {
    messages: [{ role: 'user' as const, content: `What is ${index} + ${index}?` }],
    max_tokens: maxTokens,
    temperature: 0,
    ignore_eos: true,
  };
}

function linesOf(count: number): string {
  const url = '/v1/chat/completions';
  return Array.from({ length: count }, (_, index) =>
    JSON.stringify({ custom_id: `line-${index}`, method: 'POST', url, body: requestOf(index) }),
  ).join('\n');
}

const clientOf = ({ url }: ServerProcess) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 50 });

async function submit(server: ServerProcess, count: number): Promise<string> {
  const client = clientOf(server);
  const file = await toFile(Buffer.from(linesOf(count)), 'in.jsonl');
  const { id: input_file_id } = await client.files.create({ file, purpose: 'batch' });
  const { id } = await client.batches.create({
    input_file_id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  return id;
}

/** @returns seconds that it took */
async function runOnline(server: ServerProcess, count: number): Promise<number> {
  const startedAt = performance.now();
  const indices = Array.from({ length: count }, (_, index) => index).values();
  const send = async () => {
    for (const index of indices) {
      const body = JSON.stringify(requestOf(index));
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', body, headers };
      await (await fetch(`${server.url}/v1/chat/completions`, init)).json();
    }
  };
  await Promise.all(Array.from({ length: 33 }, send));
  return (performance.now() - startedAt) / 1000;
}

/** Somebody who waits for each answer; what is cut off by a kill does not count. */
function chat(serverNow: () => ServerProcess) {
  const ttftMs: number[] = [];
  const itlMs: number[] = [];
  const over = new AbortController();
  const chatting = (async () => {
    for (let turn = 0; !over.signal.aborted; turn++) {
      const startedAt = performance.now();
      const endpoint = new URL('/v1/completions', serverNow().url);
      const body = { prompt: `${turn} Once upon a time`, max_tokens: 32, service_tier: 'priority' };
      const all = { ...body, stream: true, ignore_eos: true };
      const times = await timeEvents(endpoint, agent, all).catch(() => []);
      if (times.length > 0) ttftMs.push((times[0] ?? NaN) - startedAt);
      for (let at = 1; at < times.length; at++)
        itlMs.push((times[at] ?? NaN) - (times[at - 1] ?? NaN));
      await sleep(300);
    }
  })();
  return async () => {
    over.abort();
    await chatting;
    return { ttftMs: quantilesOf(ttftMs), itlMs: quantilesOf(itlMs) };
  };
}

function quantilesOf(times: readonly number[]) {
  return {
    count: times.length,
    p50: percentile(times, 0.5),
    p95: percentile(times, 0.95),
    p99: percentile(times, 0.99),
  };
}

const numDone = async (server: ServerProcess, id: string) => {
  const { request_counts: counts } = await clientOf(server).batches.retrieve(id);
  return (counts?.completed ?? 0) + (counts?.failed ?? 0);
};

let server = await startServer(flags);
const endAlone = chat(() => server);
await sleep(10_000);
const alone = await endAlone();

const numOnline = Number(values.online);
const onlineSeconds = await runOnline(server, numOnline);
const same = await submit(server, numOnline);
const batchStart = performance.now();
while ((await numDone(server, same)) < numOnline) await sleep(50);
const batchSeconds = (performance.now() - batchStart) / 1000;

const id = await submit(server, numLines);
const endBeside = chat(() => server);
const startedAt = performance.now();
const numKills = Number(values.kills);
for (let kill = 1; kill <= numKills; kill++) {
  while ((await numDone(server, id)) < (kill * numLines) / (numKills + 1)) await sleep(100);
  killNow(engineOf(server));
  await sleep(500);
  await server.stop('SIGKILL');
  server = await startServer(flags);
}
while ((await clientOf(server).batches.retrieve(id)).status !== 'completed') await sleep(200);
const seconds = (performance.now() - startedAt) / 1000;
const beside = await endBeside();
const batch = await clientOf(server).batches.retrieve(id);
const content = await clientOf(server).files.content(batch.output_file_id ?? '');
const results = (await content.text()).trimEnd().split('\n');
const customIds = new Set(results.map((line): unknown => Object(JSON.parse(line)).custom_id));
await server.stop();
agent.destroy();
await rm(folder, { recursive: true });

const report = {
  machine: machineShape(),
  online: { lines: numOnline, seconds: onlineSeconds, linesPerSecond: numOnline / onlineSeconds },
  batch: { lines: numOnline, seconds: batchSeconds, linesPerSecond: numOnline / batchSeconds },
  killed: {
    lines: numLines,
    kills: { engine: numKills, server: numKills },
    results: results.length,
    differentIds: customIds.size,
    counts: batch.request_counts,
    seconds,
  },
  interactive: { alone, beside },
};
if (values.json) console.log(JSON.stringify(report, null, 2));
else console.dir(report, { depth: null });
if (results.length !== numLines || customIds.size !== numLines) process.exitCode = 1;
