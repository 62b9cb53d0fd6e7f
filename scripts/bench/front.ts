/**
 * How many tokens a second one front streams, and what each costs it, over an engine process that
 * speaks the engine's messages and computes nothing (lib/free-engine.ts). Chats with summit's
 * tokenizer; the client counts events, and takes its part of the same cores.
 *
 *   npx tsx scripts/bench/front.ts [--base ../base] [--streams 1,16,64,256,1024]
 *     [--protocols sse,websocket,whole] [--tokens 100000] [--rounds 3] [--rate 10000] [--profile DIR]
 *     [--json]
 *
 * `--base` is another checkout, whose server takes turns with this one's. The engine makes `--rate` tokens a
 * second, a thousand of each stream at most. A front that keeps up sends every token as an event of its
 * own; one that can't sends several together, and so it does with `--rate 0`, which is no limit. CPU is
 * the front's alone, system calls and threads included.
 */
import { rm } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type CountingClient, httpClient, webSocketClient } from './lib/counting-clients.ts';
import { machineShape } from './lib/machine.ts';
import { cpuSeconds } from './lib/process-time.ts';
import { type ServerProcess, startServer } from './lib/server-process.ts';
import { stretchedSummit } from './lib/stretched-summit.ts';
import { median, printTable } from './lib/table.ts';

const MAX_MODEL_LEN = 8192;
const MAX_TOKENS = 8000;
const FREE_ENGINE = new URL('./lib/preload-free-engine.mjs', import.meta.url).href;

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    streams: { type: 'string', default: '1,16,64,256,1024' },
    protocols: { type: 'string', default: 'sse,websocket,whole' },
    tokens: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    rate: { type: 'string', default: '10000' },
    profile: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const numStreams = values.streams.split(',').map(Number);
const rounds = Number(values.rounds);

interface Build {
  readonly name: string;
  readonly server: ServerProcess;
  readonly clients: readonly CountingClient[];
}

interface Round {
  readonly tokensPerSecond: number;
  /** CPU time of the front, in microseconds. */
  readonly cpuPerToken: number;
  /** 1 where every token is an event of its own. */
  readonly tokensPerEvent: number;
}

interface Measurement {
  readonly build: string;
  readonly protocol: string;
  readonly streams: number;
  readonly rounds: readonly Round[];
}

async function open(name: string, folder: string, root?: string): Promise<Build> {
  const most = Math.max(...numStreams);
  const server = await startServer(
    [
      `--model=${folder}`,
      `--max-num-seqs=${most}`,
      `--max-connections=${most + 16}`,
      '--kv-cache-memory=64m',
    ],
    {
      ...(root === undefined ? {} : { root }),
      preload: FREE_ENGINE,
      environment: { FREE_ENGINE_RATE: values.rate },
      nodeFlags:
        values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`],
    },
  );
  const clients = await Promise.all(
    values.protocols.split(',').map((protocol) => clientOf(protocol, server.url, most)),
  );
  return { name, server, clients };
}

async function clientOf(protocol: string, url: string, most: number): Promise<CountingClient> {
  if (protocol === 'websocket') return webSocketClient(url, most);
  if (protocol === 'sse' || protocol === 'whole') return httpClient(url, protocol === 'sse');
  throw new Error('--protocols are sse, websocket and whole');
}

async function measure({ server }: Build, client: CountingClient, streams: number): Promise<Round> {
  const tokens = Math.min(MAX_TOKENS, Math.ceil(Number(values.tokens) / streams));
  const before = await cpuSeconds(server.pid);
  const { numEvents, ms } = await client.run(streams, tokens);
  const seconds = (await cpuSeconds(server.pid)) - before;
  const numTokens = streams * tokens;
  return {
    tokensPerSecond: (numTokens * 1000) / ms,
    cpuPerToken: (seconds * 1e6) / numTokens,
    tokensPerEvent: numTokens / numEvents,
  };
}

async function measureAll(builds: readonly Build[]): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const streams of numStreams) {
    for (const [at, { name: protocol }] of (builds[0]?.clients ?? []).entries()) {
      const results = builds.map((): Round[] => []);
      // The first round warms up.
      for (let round = 0; round <= rounds; round++) {
        for (const [index, build] of builds.entries()) {
          const client = build.clients[at];
          if (client === undefined) continue;
          const result = await measure(build, client, streams);
          if (round > 0) results[index]?.push(result);
        }
      }
      for (const [index, { name: build }] of builds.entries()) {
        measurements.push({ build, protocol, streams, rounds: results[index] ?? [] });
      }
    }
  }
  return measurements;
}

const folder = await stretchedSummit(MAX_MODEL_LEN);
const builds: Build[] = [];
let measurements: Measurement[] = [];
try {
  if (values.base !== undefined) builds.push(await open('base', folder, values.base));
  builds.push(await open('this', folder));
  measurements = await measureAll(builds);
} finally {
  for (const { clients, server } of builds) {
    for (const client of clients) client.close();
    await server.close();
  }
  await rm(folder, { recursive: true });
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), ...values, measurements }));
} else {
  const pace = values.rate === '0' ? 'as many tokens as it can' : `${values.rate} tokens/s`;
  console.log(`${machineShape()}; the engine makes ${pace}, medians of ${rounds} rounds\n`);
  printTable(
    ['build', 'protocol', 'streams', 'tokens/s', 'front CPU us/token', 'us/event', 'tokens/event'],
    measurements.map(({ build, protocol, streams, rounds: all }) => {
      const mid = (pick: (round: Round) => number) => median(all.map(pick));
      return [
        build,
        protocol,
        String(streams),
        mid(({ tokensPerSecond }) => tokensPerSecond).toFixed(0),
        mid(({ cpuPerToken }) => cpuPerToken).toFixed(1),
        mid(({ cpuPerToken, tokensPerEvent }) => cpuPerToken * tokensPerEvent).toFixed(1),
        mid(({ tokensPerEvent }) => tokensPerEvent).toFixed(2),
      ];
    }),
  );
}
