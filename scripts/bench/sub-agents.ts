/**
 * Sub-agents that begin with their parent's conversation and work at the same time: how many tokens are computed
 * for each that is new. And a conversation that is summed up while somebody reads a stream: the stream's time
 * between tokens, alone and meanwhile.
 *
 *   npx tsx scripts/bench/sub-agents.ts [--agents 4] [--turns 5] [--tokens 8000] [--streams 5]
 *     [--itl 100] [--json]
 *
 * The shape of SmolLM2-135M with random weights, as in agent-loop.ts. Streams take turns: alone, while the prompt
 * of the summary is computed, and while its text is written. They are of the usual service class, which promises
 * nothing, and of one with a target for the time between tokens, in milliseconds.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { textOf, type Word, writeAgentModel } from './lib/agent-model.ts';
import { timeEvents } from './lib/event-stream.ts';
import { machineShape } from './lib/machine.ts';
import { startServer } from './lib/server-process.ts';
import { type StreamedChat, streamChat } from './lib/streamed-chat.ts';
import { median, printTable } from './lib/table.ts';

const ANSWER_TOKENS = 40;
const RESULT_TOKENS = 200;
const STREAM_TOKENS = 60;
const CLASSES = ['standard', 'interactive'] as const;

const { values } = parseArgs({
  options: {
    agents: { type: 'string', default: '4' },
    turns: { type: 'string', default: '5' },
    tokens: { type: 'string', default: '8000' },
    streams: { type: 'string', default: '5' },
    itl: { type: 'string', default: '100' },
    json: { type: 'boolean', default: false },
  },
});
const numAgents = Number(values.agents);
const turns = Number(values.turns);
const tokens = Number(values.tokens);
const numStreams = Number(values.streams);
const itl_ms = Number(values.itl);

interface Message {
  readonly role: string;
  readonly content: string;
}

const agent = new Agent({ keepAlive: true });
let numConversations = 3;

function ask(url: string, words: readonly Word[], messages: readonly Message[], seed: number) {
  return streamChat(url, agent, {
    messages,
    seed,
    max_tokens: ANSWER_TOKENS,
    ignore_eos: true,
    allowed_token_ids: words.map(({ id }) => id),
    stream_options: { include_usage: true },
  });
}

/** One sub-agent. @returns its turns */
async function work(url: string, words: readonly Word[], parent: readonly Message[], seed: number) {
  const messages = [...parent];
  const answers: StreamedChat[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    const content = textOf(words, RESULT_TOKENS, 31 * seed + turn);
    messages.push({ role: 'user', content });
    const answer = await ask(url, words, messages, seed);
    answers.push(answer);
    messages.push({ role: 'assistant', content: answer.content });
  }
  return answers;
}

/** @param isKnown whether the parent has had an answer before they begin */
async function subAgents(url: string, words: readonly Word[], isKnown: boolean) {
  const system = { role: 'system', content: textOf(words, tokens, isKnown ? 1 : 2) };
  const parent = isKnown ? [await ask(url, words, [system], 0)] : [];
  const began = performance.now();
  const children = await Promise.all(
    Array.from({ length: numAgents }, (_, index) => work(url, words, [system], index + 1)),
  );
  const seconds = (performance.now() - began) / 1000;
  const answers = [...parent, ...children.flat()];
  const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
  const generated = answers.length * ANSWER_TOKENS;
  const prompts = answers.map((each) => each.numPromptTokens - each.numCachedTokens);
  const computed = sum(prompts) + generated;
  const lasts = children.map((each) => (each.at(-1)?.numPromptTokens ?? NaN) + ANSWER_TOKENS);
  // The conversation that they share is new once.
  const fresh = sum(lasts) - (numAgents - 1) * tokens + parent.length * ANSWER_TOKENS;
  return { computed, new: fresh, ratio: computed / fresh, seconds };
}

interface Reading {
  readonly url: string;
  readonly words: readonly Word[];
  readonly serviceClass: (typeof CLASSES)[number];
}

/** @returns times between the tokens of a stream, in milliseconds, sorted */
async function stream({ url, words, serviceClass }: Reading, seed: number): Promise<number[]> {
  const times = await timeEvents(new URL('/v1/completions', url), agent, {
    prompt: textOf(words, 50, seed),
    max_tokens: STREAM_TOKENS,
    ignore_eos: true,
    seed,
    service_tier: serviceClass,
    allowed_token_ids: words.map(({ id }) => id),
    stream: true,
  });
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? NaN));
  return gaps.toSorted((a, b) => a - b);
}

async function post(url: string, body: object, signal?: AbortSignal): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    signal: signal ?? null,
  });
  if (!response.ok) throw new Error(await response.text());
}

/**
 * A stream beside a conversation that is summed up all the while.
 * @param isRead whether its prompt has been computed before
 */
async function beside(reading: Reading, round: number, isRead: boolean): Promise<number[]> {
  const { url, words } = reading;
  const content = textOf(words, tokens, isRead ? 0 : numConversations++);
  const input = [{ role: 'user', content }];
  // From then on its prompt is in the cache, in later rounds too, but for what asks for the summary.
  if (isRead) await post(`${url}/v1/responses`, { input, max_output_tokens: 1, store: false });
  const ending = new AbortController();
  let isOver = false;
  const compacting = post(`${url}/v1/responses/compact`, { input }, ending.signal)
    .catch((error: unknown) => {
      if (!ending.signal.aborted) throw error;
    })
    .finally(() => (isOver = true));
  const gaps = await stream(reading, round);
  if (isOver) throw new Error('the summary was written before the stream had ended');
  ending.abort();
  await compacting;
  return gaps;
}

function at(gaps: readonly number[], share: number): number {
  return gaps[Math.min(gaps.length - 1, Math.floor(gaps.length * share))] ?? NaN;
}

const folder = await mkdtemp(join(tmpdir(), 'chairlift-sub-agents-'));
const loops: object[] = [];
const loopRows: string[][] = [];
const streams: object[] = [];
try {
  const model = join(folder, 'model');
  const words = await writeAgentModel(model, 2 * tokens);
  const slots = ['--max-num-seqs', String(numAgents + 1)];
  const slo = { best: 'interactive', classes: { interactive: { itl_ms } } };
  const flags = [...slots, '--slo', JSON.stringify(slo)];
  const server = await startServer(['--model', model, '--random-weights', '1', ...flags]);
  const { url } = server;
  for (const isKnown of [true, false]) {
    const start = isKnown ? 'after an answer to the parent' : 'all at once, nothing in the cache';
    const result = await subAgents(url, words, isKnown);
    loops.push({ start, ...result });
    const counts = [result.computed, result.new].map((each) => each.toLocaleString('en'));
    loopRows.push([start, ...counts, result.ratio.toFixed(3), result.seconds.toFixed(0)]);
  }
  if (!values.json) {
    console.log(`${machineShape()}; ${numAgents} sub-agents, ${turns} turns, ${tokens} tokens\n`);
    printTable(['sub-agents begin', 'computed', 'new', 'ratio', 's'], loopRows);
  }
  for (const serviceClass of CLASSES) {
    const streamRows: string[][] = [];
    const reading = { url, words, serviceClass };
    const gaps = new Map<string, number[][]>();
    const add = (name: string, more: number[]) => gaps.set(name, [...(gaps.get(name) ?? []), more]);
    await stream(reading, 0);
    for (let round = 1; round <= numStreams; round++) {
      add('none', await stream(reading, round));
      add('its prompt is computed', await beside(reading, round, false));
      add('its text is written', await beside(reading, round, true));
    }
    const quantile = (name: string, share: number) =>
      median((gaps.get(name) ?? []).map((each) => at(each, share)));
    for (const name of gaps.keys()) {
      const [p50, p95] = [quantile(name, 0.5), quantile(name, 0.95)];
      const ratios = [p50 / quantile('none', 0.5), p95 / quantile('none', 0.95)];
      streams.push({ class: serviceClass, summary: name, p50, p95, ratios });
      const times = [p50, p95].map((ms) => ms.toFixed(0));
      streamRows.push([name, ...times, ...ratios.map((ratio) => ratio.toFixed(2))]);
    }
    if (values.json) continue;
    console.log(`\nStreams of the class ${serviceClass}:\n`);
    printTable(['summary', 'p50, ms', 'p95, ms', 'p50 / alone', 'p95 / alone'], streamRows);
  }
  await server.close();
} finally {
  agent.destroy();
  await rm(folder, { recursive: true, force: true });
}

if (values.json) {
  const asked = { machine: machineShape(), numAgents, turns, tokens };
  console.log(JSON.stringify({ ...asked, loops, streams }));
}
