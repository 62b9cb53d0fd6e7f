/**
 * A soak: mixed load for minutes or hours (chats and completions, streamed and not, short and long prompts,
 * cancelled, dropped, malformed) against summit or another model. Checks at the end that nothing runs or waits,
 * that the counters of /metrics agree with what clients saw, that a greedy request still gives the text it gave at
 * the start; and shows what drifted: resident memory of both processes, first tokens, gaps between tokens, and how
 * far the cost model is from the times that steps took.
 *
 *   npm run build && npx tsx scripts/bench/faults/soak.ts [--minutes 10] [--clients 24] [--load 0.8]
 *     [--model FOLDER] [--precision int8] [--max-model-len 2048] [--kv-cache-memory 1g]
 *     [--max-prompt 300] [--svg FILE] [--json]
 *
 * Without `--load` each client sends its next request when the last one is answered. With it, requests arrive at
 * random at that share of the rate which as many clients reached in the first two minutes, as long as it takes.
 */
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { metric, post, stream } from '../../../test/support/http-client.ts';
import { childrenOf } from '../../../test/support/processes.ts';
import { machineShape } from '../lib/machine.ts';
import { Draws } from '../lib/random.ts';
import { startServer } from '../../../test/support/server-process.ts';
import { printTable } from '../lib/table.ts';
import { drift, plotSoak, SoakMinutes } from './soak-minutes.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    clients: { type: 'string', default: '24' },
    load: { type: 'string' },
    model: { type: 'string', default: 'models/summit' },
    precision: { type: 'string', default: 'auto' },
    'max-model-len': { type: 'string' },
    'max-prompt': { type: 'string', default: '100' },
    'kv-cache-memory': { type: 'string', default: '32MiB' },
    svg: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const numClients = Number(values.clients);
const maxPrompt = Number(values['max-prompt']);
// A KV cache that is full within the first minute: what grows after that is a leak.
// Drafts stay on: what counts is that nothing drifts, and a soak is of the server as it is served.
const server = await startServer([
  '--log-level=error',
  `--model=${values.model}`,
  `--precision=${values.precision}`,
  `--kv-cache-memory=${values['kv-cache-memory']}`,
  ...(values['max-model-len'] === undefined ? [] : [`--max-model-len=${values['max-model-len']}`]),
]);
const completions = `${server.url}/v1/completions`;
const chat = `${server.url}/v1/chat/completions`;
const probe = { prompt: 'Once upon a time', max_tokens: 100, ignore_eos: true, temperature: 0 };
const probeText = (await stream(completions, probe)).text;

const seen = { finished: 0, dropped: 0, malformed: 0, wrong: 0, tokens: 0 };
const minutes = new SoakMinutes(server.child.pid, childrenOf(server.child.pid)[0]);

/** Numbers to tell of, 10 to `--max-prompt`, mostly few: each takes some tokens. */
function promptWords(draws: Draws): string {
  const length = Math.round(10 * (maxPrompt / 10) ** draws.uniform());
  return Array.from({ length }, () => `number ${draws.integer(1000)}`).join(' and ');
}

/** One request of a random kind. */
async function act(draws: Draws): Promise<void> {
  const kind = draws.integer(10);
  const body = {
    messages: [{ role: 'user', content: `Tell me a story about ${promptWords(draws)}.` }],
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
    const timer = minutes.timer();
    const result = await stream(chat, body, () => timer.token());
    if (!result.done || result.finishReason !== 'length') seen.wrong++;
    seen.tokens += body.max_tokens;
    seen.finished++;
  }
}

/** Each sends its next request when the last one is answered. @returns requests a second of all */
async function closedLoop(seconds: number): Promise<number> {
  const startedAt = performance.now();
  const deadline = startedAt + seconds * 1000;
  let numRequests = 0;
  const client = async (index: number) => {
    const draws = new Draws(index);
    for (; performance.now() < deadline; numRequests++) await act(draws);
  };
  await Promise.all(Array.from({ length: numClients }, (_, index) => client(index)));
  return numRequests / ((performance.now() - startedAt) / 1000);
}

/** Requests that arrive at random, whatever has been answered. @param rate requests a second */
async function openLoop(seconds: number, rate: number): Promise<void> {
  const draws = new Draws(numClients);
  const open = new Set<Promise<void>>();
  const startedAt = performance.now();
  for (let at = 0; at < seconds * 1000; at += draws.exponential(1000 / rate)) {
    await sleep(Math.max(0, startedAt + at - performance.now()));
    // A request that is refused does not end hours of others.
    const request = act(new Draws(draws.integer(2 ** 31)))
      .catch(() => void seen.wrong++)
      .finally(() => open.delete(request));
    open.add(request);
  }
  await Promise.all(open);
}

const CALIBRATION_SECONDS = 120;
const seconds = 60 * Number(values.minutes);
let rate: number | null = null;
if (values.load !== undefined) {
  rate = Number(values.load) * (await closedLoop(CALIBRATION_SECONDS));
}
const watch = minutes.watch(server.url);
await (rate === null ? closedLoop(seconds) : openLoop(seconds, rate));
await watch.stop();
await sleep(2000);
const after = {
  running: await metric(server.url, 'chairlift_num_requests_running'),
  waiting: await metric(server.url, 'chairlift_num_requests_waiting'),
  kvCacheUsage: await metric(server.url, 'chairlift_kv_cache_usage_perc'),
  finishedByMetrics: await metric(server.url, 'chairlift_e2e_request_latency_seconds_count'),
  crashes: await metric(server.url, 'chairlift_engine_crashes_total'),
  sameText: (await stream(completions, probe)).text === probeText,
};
await server.stop();
// The probe before the soak.
const isCounted = after.finishedByMetrics === seen.finished + 1;
const drifts = drift(minutes.all);
const title =
  `${basename(values.model)}, ${values.precision}, ${values.minutes} minutes, ` +
  (rate === null ? `${numClients} clients` : `${rate.toFixed(2)} requests/s`);
if (values.svg !== undefined)
  await writeFile(values.svg, plotSoak(title, machineShape(), minutes.all));
if (values.json) {
  console.log(
    JSON.stringify({
      machine: machineShape(),
      title,
      seen,
      after,
      isCounted,
      drifts,
      minutes: minutes.all,
    }),
  );
} else {
  console.log(`${machineShape()}; ${title}\n`);
  console.log({ ...seen, ...after, isCounted }, '\n');
  printTable(drifts.header, drifts.rows);
}
