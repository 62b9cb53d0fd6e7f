/**
 * The same streams over server-sent events, WebSocket and gRPC: time to first token, tokens per second,
 * and what a token costs the front. One server; the protocols take turns, each round in another order.
 * The client takes its part of the same cores.
 *
 *   npm run bench:grpc -- [--streams 1,16] [--rounds 5] [--tokens 128] [--model models/summit] [--json]
 */
import { parseArgs } from 'node:util';
import { machineShape } from './lib/machine.ts';
import { cpuSeconds } from './lib/process-time.ts';
import { startServer } from './lib/server-process.ts';
import { grpcClient, sseClient, type StreamClient, webSocketClient } from './lib/stream-clients.ts';
import { median, printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '1,16' },
    rounds: { type: 'string', default: '5' },
    tokens: { type: 'string', default: '128' },
    model: { type: 'string', default: 'models/summit' },
    json: { type: 'boolean', default: false },
  },
});
const numStreams = values.streams.split(',').map(Number);
const rounds = Number(values.rounds);
const tokens = Number(values.tokens);

interface Round {
  /** Milliseconds to each stream's first piece of text. */
  readonly firstTokens: readonly number[];
  readonly tokensPerSecond: number;
  /** Microseconds of CPU that the front took per token. */
  readonly frontMicros: number;
}

interface Measurement {
  readonly protocol: string;
  readonly streams: number;
  readonly ttftMs: { readonly p50: number; readonly p99: number };
  readonly tokensPerSecond: readonly number[];
  readonly frontMicros: number;
}

async function runRound(client: StreamClient, streams: number): Promise<Round> {
  const cpuBefore = await cpuSeconds(server.pid);
  const start = performance.now();
  const arrivals = await Promise.all(
    Array.from({ length: streams }, () =>
      client.time('bench', `Story ${Math.random()}: once upon a time`, tokens),
    ),
  );
  const end = Math.max(...arrivals.map((times) => times.at(-1) ?? NaN));
  const numTokens = streams * tokens;
  return {
    firstTokens: arrivals.map((times) => (times[0] ?? NaN) - start),
    tokensPerSecond: (numTokens * 1000) / (end - start),
    frontMicros: (((await cpuSeconds(server.pid)) - cpuBefore) * 1e6) / numTokens,
  };
}

async function measure(clients: readonly StreamClient[], streams: number): Promise<Measurement[]> {
  const results = clients.map((): Round[] => []);
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (let turn = 0; turn < clients.length; turn++) {
      const index = (round + turn) % clients.length;
      const client = clients[index];
      if (client === undefined) continue;
      const result = await runRound(client, streams);
      if (round > 0) results[index]?.push(result);
    }
  }
  return clients.map(({ name }, index): Measurement => {
    const own = results[index] ?? [];
    const first = own.flatMap(({ firstTokens }) => firstTokens).toSorted((a, b) => a - b);
    const quantile = (share: number) => first[Math.ceil(share * first.length) - 1] ?? NaN;
    return {
      protocol: name,
      streams,
      ttftMs: { p50: quantile(0.5), p99: quantile(0.99) },
      tokensPerSecond: own.map(({ tokensPerSecond }) => tokensPerSecond),
      // The clock is coarse: only over all rounds it says something.
      frontMicros: own.reduce((sum, { frontMicros }) => sum + frontMicros, 0) / own.length,
    };
  });
}

const server = await startServer([
  `--model=bench=${values.model}`,
  '--grpc-port=0',
  `--max-num-seqs=${Math.max(...numStreams)}`,
]);
const clients: StreamClient[] = [];
const measurements: Measurement[] = [];
try {
  clients.push(
    sseClient(server.url),
    await webSocketClient(server.url),
    grpcClient(server.grpcAddress ?? ''),
  );
  for (const streams of numStreams) measurements.push(...(await measure(clients, streams)));
} finally {
  for (const client of clients) client.close();
  await server.close();
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), tokens, rounds, measurements }));
} else {
  console.log(`${machineShape()}; ${values.model}, ${tokens} tokens a stream, ${rounds} rounds\n`);
  printTable(
    ['streams', 'protocol', 'TTFT p50 ms', 'TTFT p99 ms', 'tokens/s', 'front CPU us/token'],
    measurements.map(({ protocol, streams, ttftMs, tokensPerSecond, frontMicros }) => [
      String(streams),
      protocol,
      ttftMs.p50.toFixed(1),
      ttftMs.p99.toFixed(1),
      median(tokensPerSecond).toFixed(0),
      frontMicros.toFixed(0),
    ]),
  );
}
