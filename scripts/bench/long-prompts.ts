/**
 * How long the front's event loop is held up under 64 streams while prompts of 6,000 tokens keep
 * coming, with one thread that makes prompts and with two. Summit, stretched to 8,192 positions. The
 * long prompts have all but their last words in common, so that the engine finds them in its cache
 * and keeps up: it is the front that is measured, and it tokenizes each in full.
 *
 *   npx tsx scripts/bench/long-prompts.ts [--streams 64] [--prompt-tokens 6000] [--rate 10] [--seconds 20]
 *     [--rounds 2] [--threads 0] [--json]
 *
 * Servers of both kinds take turns. Delays as perf_hooks.monitorEventLoopDelay has them, sampled every
 * millisecond, less that millisecond; gaps between a stream's events as the client sees them, which
 * runs on the same cores.
 */
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import type { EventLoopDelays } from './lib/event-loop-monitor.ts';
import { timeEvents } from './lib/event-stream.ts';
import { machineShape } from './lib/machine.ts';
import { percentile } from './lib/random.ts';
import { startServer } from './lib/server-process.ts';
import { stretchedSummit, SUMMIT } from './lib/stretched-summit.ts';
import { median, printTable } from './lib/table.ts';

const MAX_MODEL_LEN = 8192;
const WARM_UP_MS = 3000;
const STREAM_TOKENS = 400;

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '64' },
    'prompt-tokens': { type: 'string', default: '6000' },
    rate: { type: 'string', default: '10' },
    seconds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '2' },
    threads: { type: 'string', default: '0' },
    json: { type: 'boolean', default: false },
  },
});
const numStreams = Number(values.streams);

interface Round {
  readonly delays: EventLoopDelays;
  /** Gaps between the events of a stream, in milliseconds. */
  readonly gapP50: number;
  readonly gapP99: number;
  /** From sending a long prompt to its answer, in milliseconds. */
  readonly longP50: number;
  readonly numLong: number;
}

/** So many tokens of the words in summit's test texts. */
async function longText(numTokens: number): Promise<string> {
  const tokenizer = await TextTokenizer.load(SUMMIT);
  const lines = (await readFile(join(SUMMIT, 'eval.jsonl'), 'utf8')).split('\n');
  const words = lines.join(' ').match(/[a-z]+[.,]?/gi) ?? [];
  const tokenIds = tokenizer.encode(words.join(' '), { addSpecialTokens: false });
  return tokenizer.decode(tokenIds.subarray(0, numTokens), { skipSpecialTokens: true });
}

async function complete(url: URL, agent: Agent, body: object): Promise<number> {
  const start = performance.now();
  const headers = { 'content-type': 'application/json' };
  const post = request(url, { agent, method: 'POST', headers });
  post.end(JSON.stringify(body));
  const [response] = await once(post, 'response');
  response.resume();
  await once(response, 'end');
  if (response.statusCode !== 200) throw new Error(`answered with ${response.statusCode}`);
  return performance.now() - start;
}

async function measure(folder: string, text: string, poolSize: number): Promise<Round> {
  const flags = [
    `--model=${folder}`,
    `--max-num-seqs=${numStreams + 16}`,
    '--kv-cache-memory=2g',
    `--threads=${values.threads}`,
    `--tokenizer-pool-size=${poolSize}`,
  ];
  const server = await startServer(flags, { monitorsLoop: true });
  const url = new URL('/v1/completions', server.url);
  const agent = new Agent({ keepAlive: true });
  let isMeasuring = false;
  const over = new AbortController();
  const gaps: number[] = [];
  const longMs: number[] = [];
  const streams = Array.from({ length: numStreams }, async (_, index) => {
    for (let turn = 0; !over.signal.aborted; turn++) {
      const body = {
        prompt: `Stream ${index} says for the ${turn}th time:`,
        max_tokens: STREAM_TOKENS,
        temperature: 0,
        ignore_eos: true,
        stream: true,
      };
      const times = await timeEvents(url, agent, body);
      if (!isMeasuring) continue;
      for (let at = 1; at < times.length; at++) gaps.push((times[at] ?? 0) - (times[at - 1] ?? 0));
    }
  });
  const long: Promise<unknown>[] = [];
  const sendLong = (): void => {
    const prompt = `${text} This is number ${long.length}.`;
    const body = { prompt, max_tokens: 1, temperature: 0 };
    const sent = complete(url, agent, body).then((ms) => isMeasuring && longMs.push(ms));
    sent.catch(() => {});
    long.push(sent);
  };
  // The first one fills the cache for the others.
  sendLong();
  await Promise.all(long);
  const timer = setInterval(sendLong, 1000 / Number(values.rate));
  await sleep(WARM_UP_MS);
  isMeasuring = true;
  await server.eventLoopDelays();
  await sleep(Number(values.seconds) * 1000);
  const delays = await server.eventLoopDelays();
  clearInterval(timer);
  over.abort();
  await Promise.all([...streams, ...long]);
  agent.destroy();
  await server.close();
  return {
    delays,
    gapP50: percentile(gaps, 0.5),
    gapP99: percentile(gaps, 0.99),
    longP50: percentile(longMs, 0.5),
    numLong: longMs.length,
  };
}

const folder = await stretchedSummit(MAX_MODEL_LEN);
const variants = [
  { name: 'one thread', poolSize: 1, rounds: new Array<Round>() },
  { name: 'two threads', poolSize: 2, rounds: new Array<Round>() },
];
try {
  const text = await longText(Number(values['prompt-tokens']));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const { poolSize, rounds } of variants) rounds.push(await measure(folder, text, poolSize));
  }
} finally {
  await rm(folder, { recursive: true });
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), ...values, variants }));
} else {
  console.log(
    `${machineShape()}; ${numStreams} streams, ${values.rate} prompts of ${values['prompt-tokens']} tokens a second\n`,
  );
  printTable(
    [
      'long prompts made on',
      'event-loop delay p50, ms',
      'p99',
      'max',
      'gap p50, ms',
      'p99',
      'long prompts',
      'answered in p50, ms',
    ],
    variants.map(({ name, rounds }) => {
      const mid = (pick: (round: Round) => number) => median(rounds.map(pick)).toFixed(1);
      return [
        name,
        mid(({ delays }) => delays.p50),
        mid(({ delays }) => delays.p99),
        Math.max(...rounds.map(({ delays }) => delays.max)).toFixed(1),
        mid(({ gapP50 }) => gapP50),
        mid(({ gapP99 }) => gapP99),
        mid(({ numLong }) => numLong),
        mid(({ longP50 }) => longP50),
      ];
    }),
  );
}
