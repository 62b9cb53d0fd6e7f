/**
 * Tokens per second through HTTP and server-sent events, as a share of what the raw decoder makes of
 * the same rows at a like context. SmolLM2-135M shape (random weights), all on this machine: the
 * client takes its part of the same cores.
 *
 *   npm run bench:http -- [--streams 16,32] [--rounds 5] [--tokens 128] [--precision fp32] [--threads 2]
 *     [--json]
 *
 * Server and raw decoder are processes of their own and take turns; while one is measured, the other
 * waits without a thread running. The decode phase of a round lies between the moment when every
 * stream has its first token and the moment when the first stream has its last.
 */
import { Agent } from 'node:http';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { defaultCacheDirectory } from '../../src/model/build/cache-directory.ts';
import { PRECISIONS } from '../../src/model/build/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { timeEvents } from './lib/event-stream.ts';
import { machineShape } from './lib/machine.ts';
import { RawDecoderProcess } from './lib/raw-decoder-process.ts';
import { startServer } from './lib/server-process.ts';
import { median, printTable } from './lib/table.ts';

const MODEL = 'smollm2-135m';
const SEED = 1;
const CAPACITY = 512;
const PROMPT_TOKENS = 16;
const VOCAB_SIZE = PRESETS[MODEL].vocab_size;

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '16,32' },
    rounds: { type: 'string', default: '5' },
    tokens: { type: 'string', default: '128' },
    precision: { type: 'string', default: 'fp32' },
    threads: { type: 'string', default: String(availableParallelism()) },
    json: { type: 'boolean', default: false },
  },
});
const numStreams = values.streams.split(',').map(Number);
const rounds = Number(values.rounds);
const tokens = Number(values.tokens);
const threads = Number(values.threads);
const precision = PRECISIONS.find((name) => name === values.precision);
if (precision === undefined) throw new Error(`--precision is one of ${PRECISIONS.join(', ')}`);
/** The position of a stream in the middle of its decode phase. */
const context = PROMPT_TOKENS + (tokens >> 1);

interface Measurement {
  readonly streams: number;
  /** Tokens per second of each round. */
  readonly http: readonly number[];
  readonly rawDecoder: readonly number[];
  /** Median over the rounds of http divided by the raw decoder of the same round. */
  readonly share: number;
}

const model = await prepareModel(
  { kind: 'random', config: PRESETS[MODEL], seed: SEED },
  { precision, cacheDirectory: defaultCacheDirectory() },
);

/** Tokens per second over the decode phase of that many streams, started together. */
async function throughHttp(endpoint: URL, agent: Agent, streams: number): Promise<number> {
  const arrivals = await Promise.all(
    Array.from({ length: streams }, () =>
      timeEvents(endpoint, agent, {
        prompt: Array.from({ length: PROMPT_TOKENS }, () => Math.floor(Math.random() * VOCAB_SIZE)),
        max_tokens: tokens,
        temperature: 0,
        ignore_eos: true,
        stream: true,
      }),
    ),
  );
  const start = Math.max(...arrivals.map((times) => times[0] ?? NaN));
  const end = Math.min(...arrivals.map((times) => times.at(-1) ?? NaN));
  const all = arrivals.flat();
  const inPhase = all.filter((time) => time > start && time <= end).length;
  // Events that carry several tokens, and tokens that wait for the rest of a character, even out.
  const tokensPerEvent = (streams * tokens) / all.length;
  return (inPhase * tokensPerEvent * 1000) / (end - start);
}

async function measure(endpoint: URL, agent: Agent, streams: number): Promise<Measurement> {
  const raw = await RawDecoderProcess.open({
    model,
    rows: streams,
    capacity: CAPACITY,
    context,
    threads,
  });
  const [http, rawDecoder]: [number[], number[]] = [[], []];
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    const ours = await throughHttp(endpoint, agent, streams);
    const theirs = await raw.tokensPerSecond(tokens);
    if (round === 0) continue;
    http.push(ours);
    rawDecoder.push(theirs);
  }
  await raw.close();
  const share = median(http.map((value, round) => value / (rawDecoder[round] ?? NaN)));
  return { streams, http, rawDecoder, share };
}

const server = await startServer([
  `--model=${MODEL}`,
  `--random-weights=${SEED}`,
  `--precision=${precision}`,
  `--threads=${threads}`,
  `--max-model-len=${CAPACITY}`,
  `--max-num-seqs=${Math.max(...numStreams)}`,
]);
const agent = new Agent({ keepAlive: true });
const measurements: Measurement[] = [];
try {
  const endpoint = new URL('/v1/completions', server.url);
  for (const streams of numStreams) measurements.push(await measure(endpoint, agent, streams));
} finally {
  agent.destroy();
  await server.close();
}

if (values.json) {
  console.log(
    JSON.stringify({
      machine: machineShape(),
      precision,
      threads,
      tokens,
      context,
      rounds,
      measurements,
    }),
  );
} else {
  console.log(
    `${machineShape()}; ${precision}, ${threads} threads, ${tokens} tokens a stream, medians of ${rounds} rounds\n`,
  );
  printTable(
    ['streams', 'HTTP tokens/s', 'raw decoder tokens/s', 'share'],
    measurements.map(({ streams, http, rawDecoder, share }) => [
      String(streams),
      median(http).toFixed(0),
      median(rawDecoder).toFixed(0),
      `${(share * 100).toFixed(0)}%`,
    ]),
  );
}
