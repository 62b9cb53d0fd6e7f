/**
 * The response cache: latency of a hit beside that of a miss, hit rates on a Zipf trace at several
 * sizes, and with `--redis-server` a trace over two replicas while a redis-server of its own is killed,
 * started, frozen and thawed. The embedded model, greedy.
 *
 *   npx tsx scripts/bench/response-cache.ts [--requests 10000] [--prompts 2000] [--exponent 1]
 *     [--tokens 16] [--clients 8] [--hits 2000] [--redis-server] [--json]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { machineShape } from './lib/machine.ts';
import { type ServerProcess, startServer } from './lib/server-process.ts';
import { printTable } from './lib/table.ts';

const REDIS_PORT = 16_390;

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '10000' },
    prompts: { type: 'string', default: '2000' },
    exponent: { type: 'string', default: '1' },
    tokens: { type: 'string', default: '16' },
    clients: { type: 'string', default: '8' },
    hits: { type: 'string', default: '2000' },
    'redis-server': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const numRequests = Number(values.requests);
const numPrompts = Number(values.prompts);
const numClients = Number(values.clients);
const agent = new Agent({ keepAlive: true });

interface Outcome {
  readonly status: string;
  readonly ms: number;
}

/** @throws when the answer is not 200 */
function ask(url: string, rank: number): Promise<Outcome> {
  const prompt = `Question number ${rank}: what do you think of it, and why?`;
  const body = { prompt, temperature: 0, max_tokens: Number(values.tokens), ignore_eos: true };
  const begin = performance.now();
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const post = request(`${url}/v1/completions`, { agent, method: 'POST', headers });
    post.on('error', reject);
    post.on('response', (response) => {
      response.resume();
      response.on('error', reject);
      response.on('end', () => {
        const status = String(response.headers['x-chairlift-cache']);
        if (response.statusCode === 200) resolve({ status, ms: performance.now() - begin });
        else reject(new Error(`status ${response.statusCode}`));
      });
    });
    post.end(JSON.stringify(body));
  });
}

/** Ranks from 1, by Zipf's law; the same trace each time. */
function zipfTrace(length: number): number[] {
  const weights = Array.from(
    { length: numPrompts },
    (_, at) => (at + 1) ** -Number(values.exponent),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let seed = 1;
  const random = (): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return seed / 2 ** 32;
  };
  return Array.from({ length }, () => {
    let left = random() * total;
    const rank = weights.findIndex((weight) => (left -= weight) <= 0);
    return rank === -1 ? numPrompts : rank + 1;
  });
}

function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

function latency(outcomes: readonly Outcome[]) {
  const sorted = outcomes.map(({ ms }) => ms).toSorted((a, b) => a - b);
  return { count: sorted.length, p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
}

/** Runs a trace with several clients at once. */
async function run(trace: readonly number[], urlOf: (index: number) => string) {
  const outcomes: Outcome[] = [];
  const failures: string[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: numClients }, async () => {
      for (let index = next++; index < trace.length; index = next++) {
        try {
          outcomes.push(await ask(urlOf(index), trace[index] ?? 1));
        } catch (error) {
          failures.push(String(error));
        }
      }
    }),
  );
  const share = (status: string) =>
    outcomes.filter((outcome) => outcome.status === status).length / trace.length;
  return {
    hits: share('hit'),
    shared: share('shared'),
    misses: share('miss'),
    failed: failures.length,
  };
}

const common = ['--max-num-seqs', '16', '--max-queue', '1000'];

async function withServer<T>(size: string, use: (server: ServerProcess) => Promise<T>): Promise<T> {
  const server = await startServer([...common, '--response-cache', size]);
  try {
    return await use(server);
  } finally {
    await server.close();
  }
}

/** One after the other: a machine of two cores is busy with one. */
async function measureLatency({ url }: ServerProcess) {
  const numMisses = 200;
  const misses: Outcome[] = [];
  for (let rank = 1; rank <= numMisses; rank++) misses.push(await ask(url, rank));
  const hits: Outcome[] = [];
  for (let index = 0; index < Number(values.hits); index++) {
    hits.push(await ask(url, 1 + (index % numMisses)));
  }
  const wrong = [
    ...misses.map(({ status }) => status === 'miss'),
    ...hits.map(({ status }) => status === 'hit'),
  ];
  if (wrong.includes(false)) throw new Error('a hit was a miss, or a miss a hit');
  return { miss: latency(misses), hit: latency(hits) };
}

async function startRedis(): Promise<ChildProcess> {
  const args = ['--port', `${REDIS_PORT}`, '--bind', '127.0.0.1', '--save', ''];
  const child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const chunk of child.stdout) if (/Ready to accept/i.test(String(chunk))) break;
  return child;
}

/** A trace over two replicas while Redis comes and goes. */
async function runWithRedis(trace: readonly number[]) {
  let redis = await startRedis();
  const args = [...common, '--response-cache', '64m', '--redis', `redis://127.0.0.1:${REDIS_PORT}`];
  args.push('--rate-limit-requests', '10000000', '--rate-limit-tokens', '1000000000');
  const servers = [await startServer(args), await startServer(args)];
  const over = new AbortController();
  let numKills = 0;
  const faults = (async () => {
    while (!over.signal.aborted) {
      await sleep(2000);
      redis.kill('SIGKILL');
      await once(redis, 'exit');
      numKills++;
      await sleep(2000);
      redis = await startRedis();
      await sleep(2000);
      redis.kill('SIGSTOP');
      await sleep(2000);
      redis.kill('SIGCONT');
    }
  })();
  const result = await run(trace, (index) => servers[index % servers.length]?.url ?? '');
  over.abort();
  await faults;
  await Promise.all(servers.map((server) => server.close()));
  redis.kill('SIGKILL');
  return { ...result, numKills };
}

const trace = zipfTrace(numRequests);
const distinct = new Set(trace).size;
const latencies = await withServer('64m', measureLatency);
const rates: { size: string; hits: number; shared: number; misses: number; failed: number }[] = [];
for (const size of ['64m', '512k', '128k']) {
  rates.push({ size, ...(await withServer(size, ({ url }) => run(trace, () => url))) });
}
const redis = values['redis-server'] ? await runWithRedis(trace) : null;
agent.destroy();

const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
if (values.json) {
  console.log(
    JSON.stringify({
      machine: machineShape(),
      latencies,
      trace: { numRequests, distinct },
      rates,
      redis,
    }),
  );
} else {
  console.log(`${machineShape()}; ${values.tokens} tokens an answer\n`);
  printTable(
    ['', 'requests', 'p50, ms', 'p99, ms'],
    Object.entries(latencies).map(([name, { count, p50, p99 }]) => [
      name,
      `${count}`,
      p50.toFixed(2),
      p99.toFixed(2),
    ]),
  );
  console.log(`\nZipf trace of ${numRequests} requests, ${distinct} prompts\n`);
  printTable(
    ['size', 'hits', 'shared', 'misses', 'failed'],
    rates.map(({ size, hits, shared, misses, failed }) => [
      size,
      percent(hits),
      percent(shared),
      percent(misses),
      `${failed}`,
    ]),
  );
  if (redis !== null) {
    console.log(
      `\nTwo replicas, Redis killed ${redis.numKills} times and frozen as often: ${percent(redis.hits)} hits, ${redis.failed} failed`,
    );
  }
}
