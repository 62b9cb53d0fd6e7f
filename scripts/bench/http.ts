/**
 * Tokens per second through HTTP and server-sent events, as a share of what the raw decoder makes of
 * the same rows at a like context. SmolLM2-135M shape (random weights), all on this machine: the
 * client takes its part of the same cores. Neither drafts: each token of both is a row of a step. With
 * `--drafts` a second server, which drafts as it does by default, takes turns with them; its column is
 * compared with the first server, for the raw decoder has no drafts. (Random weights repeat
 * themselves, so nearly every draft is accepted: on real text the gain is smaller, see speculative.ts.)
 *
 *   npm run bench:http -- [--streams 16,32] [--rounds 5] [--tokens 128] [--precision fp32] [--threads 2]
 *     [--kernels auto] [--base ../base] [--drafts] [--json]
 *
 * `--base` is another checkout, whose server takes turns too. Servers and raw decoder are processes of
 * their own; while one is measured, the others wait without a thread running. The decode phase of a round lies between the moment when every
 * stream has its first token and the moment when the first stream has its last.
 */
import { Agent } from 'node:http';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { PRECISIONS } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { BENCH_MODEL, BENCH_SEED, benchModel, requireKernels } from './lib/bench-model.ts';
import { timeEvents } from './lib/event-stream.ts';
import { machineShape } from './lib/machine.ts';
import { RawDecoderProcess } from './lib/raw-decoder-process.ts';
import { type ServerProcess, startServer } from './lib/server-process.ts';
import { median, printTable } from './lib/table.ts';

const CAPACITY = 512;
const PROMPT_TOKENS = 16;
const VOCAB_SIZE = PRESETS[BENCH_MODEL].vocab_size;

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '16,32' },
    rounds: { type: 'string', default: '5' },
    tokens: { type: 'string', default: '128' },
    precision: { type: 'string', default: 'fp32' },
    kernels: { type: 'string', default: 'auto' },
    threads: { type: 'string', default: String(availableParallelism()) },
    base: { type: 'string' },
    drafts: { type: 'boolean', default: false },
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
  /** `this`, or `base`. */
  readonly build: string;
  readonly streams: number;
  /** Tokens per second of each round. */
  readonly http: readonly number[];
  readonly rawDecoder: readonly number[];
  /** Median over the rounds of http divided by the raw decoder of the same round. */
  readonly share: number;
  /** Tokens per second of each round of a server that drafts; null unless it took part. */
  readonly drafts: readonly number[] | null;
  /** Median over the rounds of drafts divided by http of the same round. */
  readonly draftGain: number | null;
}

const kernels = requireKernels(values.kernels);
const model = await benchModel(precision, kernels);

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

/** A server, at work when it is its turn. */
interface Contender {
  readonly build: 'this' | 'base' | 'drafts';
  readonly server: ServerProcess;
  readonly endpoint: URL;
}

async function startContender(build: Contender['build'], root?: string): Promise<Contender> {
  const flags = [
    `--model=${BENCH_MODEL}`,
    `--random-weights=${BENCH_SEED}`,
    `--kernels=${kernels}`,
    `--precision=${precision}`,
    `--threads=${threads}`,
    `--max-model-len=${CAPACITY}`,
    `--max-num-seqs=${Math.max(...numStreams)}`,
    ...(build === 'drafts' ? ['--speculative=auto'] : []),
  ];
  const server = await startServer(flags, root === undefined ? {} : { root });
  return { build, server, endpoint: new URL('/v1/completions', server.url) };
}

async function measure(
  contenders: readonly Contender[],
  agent: Agent,
  streams: number,
): Promise<Measurement[]> {
  const raw = await RawDecoderProcess.open({
    model,
    rows: streams,
    capacity: CAPACITY,
    context,
    threads,
  });
  const http = new Map(contenders.map(({ build }): [string, number[]] => [build, []]));
  const rawDecoder: number[] = [];
  // The first round warms up.
  for (let round = 0; round <= rounds; round++) {
    for (const { build, endpoint } of contenders) {
      const rate = await throughHttp(endpoint, agent, streams);
      if (round > 0) http.get(build)?.push(rate);
    }
    const rate = await raw.tokensPerSecond(tokens);
    if (round > 0) rawDecoder.push(rate);
  }
  await raw.close();
  return ['base', 'this'].flatMap((build) => {
    const own = http.get(build);
    if (own === undefined) return [];
    const drafts = (build === 'this' ? http.get('drafts') : undefined) ?? null;
    const share = medianRatio(own, rawDecoder);
    const draftGain = drafts && medianRatio(drafts, own);
    return [{ build, streams, http: own, rawDecoder, share, drafts, draftGain }];
  });
}

/** Median of the ratios of each round. */
function medianRatio(rates: readonly number[], bases: readonly number[]): number {
  return median(rates.map((rate, round) => rate / (bases[round] ?? NaN)));
}

const agent = new Agent({ keepAlive: true });
const contenders: Contender[] = [];
const measurements: Measurement[] = [];
try {
  if (values.base !== undefined) contenders.push(await startContender('base', values.base));
  contenders.push(await startContender('this'));
  if (values.drafts) contenders.push(await startContender('drafts'));
  for (const streams of numStreams)
    measurements.push(...(await measure(contenders, agent, streams)));
} finally {
  agent.destroy();
  for (const { server } of contenders) await server.close();
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
  const percent = (share: number) => `${(share * 100).toFixed(0)}%`;
  const withDrafts = values.drafts ? ['with drafts tokens/s', 'of without'] : [];
  printTable(
    ['build', 'streams', 'HTTP tokens/s', 'raw decoder tokens/s', 'share', ...withDrafts],
    measurements.map(({ build, streams, http, rawDecoder, share, drafts, draftGain }) => [
      build,
      String(streams),
      median(http).toFixed(0),
      median(rawDecoder).toFixed(0),
      percent(share),
      ...(values.drafts ? [drafts ? median(drafts).toFixed(0) : ''] : []),
      ...(values.drafts ? [draftGain === null ? '' : percent(draftGain)] : []),
    ]),
  );
}
