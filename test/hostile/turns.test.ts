/**
 * The longest turn of the front's event loop while the largest answers are written, by the CPU time of
 * its thread: other work on the machine does not count.
 */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { needs } from '../support/needs.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { Client } from './support/client.ts';

const MONITOR = new URL('../support/turn-monitor.mjs', import.meta.url).href;
/** The aim is 5 ms; an answer that is made or written in one turn takes 20 ms and more. */
const MAX_TURN_MS = 10;
/** Code that runs for the first time has to be compiled, too. */
const MAX_FIRST_TURN_MS = 15;
/** Times that an answer is asked for. The least counts: a collection of garbage falls into some turn. */
const NUM_TRIES = 3;

/** Two thirds of the log-probabilities that an answer in one piece may have. */
const MANY = { prompt: 'Once', n: 31, max_tokens: 64, ignore_eos: true, logprobs: 20 };

let server: ServerProcess;
let client: Client;
let remove: () => Promise<void>;

let start: () => Promise<void>;

beforeAll(async () => {
  const cache = await temporaryCache();
  ({ remove } = cache);
  start = async () => {
    const flags = ['--threads=1', '--max-num-seqs=32'];
    server = await startServer(flags, cache.env, { preload: MONITOR });
    client = new Client({ url: server.url, key: null, localAddress: '127.0.0.1' });
    await longestTurn();
  };
  await start();
});

afterAll(async () => {
  await server.stop();
  await remove();
});

/** Since the last call, in milliseconds. */
async function longestTurn(): Promise<number> {
  const answered = once(server.child, 'message') as Promise<[number]>;
  server.child.send('turn');
  const [ms] = await answered;
  return ms;
}

async function expectOk(path: string, body?: object): Promise<void> {
  const { status, text } = await client.send(path, body ? { body } : {});
  if (status !== 200) throw new Error(`${status} ${text.slice(0, 200)}`);
}

async function overSocket(): Promise<void> {
  const socket = await client.socket('/v1/completions');
  const done = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer) => {
      if (data.toString('latin1', 0, 100).includes('"done"')) resolve();
    });
  });
  socket.send(JSON.stringify({ request_id: 'many', ...MANY }));
  await done.finally(() => socket.terminate());
}

/** Choices of a stream whose tokens come together, and an answer whose last event has all of it. */
const WIDE = { ...MANY, n: 128, max_tokens: 16, stream: true };
const LONG = {
  input: 'Once',
  max_output_tokens: 400,
  ignore_eos: true,
  stream: true,
  top_logprobs: 20,
  include: ['message.output_text.logprobs'],
};

/** As many tokens as are answered. */
const TEXT = { prompt: 'a b c d '.repeat(2 ** 14), return_token_strs: true };

const ANSWERS: readonly (readonly [what: string, ask: () => Promise<void>])[] = [
  ['40,000 log-probabilities in one piece', () => expectOk('/v1/completions', MANY)],
  ['the same over WebSocket', overSocket],
  ['a stream of 128 choices with log-probabilities', () => expectOk('/v1/completions', WIDE)],
  ['130,000 tokens of a text, and how they are spelled', () => expectOk('/tokenize', TEXT)],
  ['a response whose last event has all of it', () => expectOk('/v1/responses', LONG)],
];

const CLOCK = {
  name: 'the CPU time of a thread, as Linux has it',
  isThere: process.platform === 'linux',
};

it('the first documentation', needs(CLOCK), async () => {
  const paths = ['/openapi.json', '/docs'];
  const longest = paths.map((): number[] => []);
  for (let run = 0; run < NUM_TRIES; run++) {
    // There is one first time in a server.
    await server.stop();
    await start();
    for (const [index, path] of paths.entries()) {
      await longestTurn();
      await expectOk(path);
      longest[index]?.push(await longestTurn());
    }
  }
  for (const [index, path] of paths.entries()) {
    const all = longest[index] ?? [];
    console.log(`the first ${path}: ${all.map((ms) => ms.toFixed(1)).join(', ')} ms`);
    expect(Math.min(...all), path).toBeLessThan(MAX_FIRST_TURN_MS);
  }
});

it.each(ANSWERS)('%s', needs(CLOCK), async (what, ask) => {
  // Code that is run for the first time is slow.
  await ask();
  const longest: number[] = [];
  for (let run = 0; run < NUM_TRIES; run++) {
    await longestTurn();
    await ask();
    longest.push(await longestTurn());
  }
  const ms = Math.min(...longest);
  console.log(`${what}: ${ms.toFixed(1)} ms`);
  expect(ms).toBeLessThan(MAX_TURN_MS);
});
