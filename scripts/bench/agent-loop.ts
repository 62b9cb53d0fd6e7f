/**
 * An agent's loop: each turn sends the conversation again, with the last answer and a tool's result. How many
 * tokens are computed for each that is new, and the time to the first token late in the loop against early.
 *
 *   npx tsx scripts/bench/agent-loop.ts [--turns 20] [--tokens 16000] [--rounds 1] [--json]
 *   npx tsx scripts/bench/agent-loop.ts --server NAME=URL [--server NAME=URL]... [--tokens 7000]
 *
 * The shape of SmolLM2-135M with random weights and the embedded model's tokenizer; answers are drawn from
 * words that are a token each, so that they have the same tokens when they come back. Two templates: the
 * embedded model's own, which only appends; and one that marks the last question, so that in each turn the
 * prompt changes from there on. With --server the same conversation is had with servers that run already, in
 * turns, greedily; their answers are their own.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { textOf, type Word, writeAgentModel } from './lib/agent-model.ts';
import { machineShape } from './lib/machine.ts';
import { type NamedServer, namedServers } from './lib/named-servers.ts';
import { startServer } from './lib/server-process.ts';
import { type StreamedChat, streamChat } from './lib/streamed-chat.ts';
import { median, printTable } from './lib/table.ts';

const FIRST_SHARE = 0.25;
const ANSWER_TOKENS = 40;
const QUESTION = "'<|im_start|>user\\n' + message['content']";

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '20' },
    tokens: { type: 'string', default: '16000' },
    rounds: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    server: { type: 'string', multiple: true, default: [] },
  },
});
const turns = Number(values.turns);
const tokens = Number(values.tokens);
const rounds = Number(values.rounds);

/** One conversation. @param fields of each request. @returns its turns */
async function loop(
  url: string,
  agent: Agent,
  words: readonly Pick<Word, 'text'>[],
  round: number,
  fields: object,
) {
  const text = (length: number, from: number) => textOf(words, length, from);
  const first = Math.round(tokens * FIRST_SHARE);
  const perTurn = Math.floor((tokens - first) / (turns - 1)) - ANSWER_TOKENS;
  const messages = [{ role: 'system', content: text(first, 31 * round) }];
  const answers: StreamedChat[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    messages.push({ role: 'user', content: text(turn === 1 ? 20 : perTurn, turn + 31 * round) });
    const answer = await streamChat(url, agent, {
      messages,
      seed: turn,
      max_tokens: ANSWER_TOKENS,
      ignore_eos: true,
      ...fields,
      stream_options: { include_usage: true },
    });
    answers.push(answer);
    messages.push({ role: 'assistant', content: answer.content });
  }
  return answers;
}

const TEMPLATES = [
  ['appends', (template: string) => template],
  [
    'marks the last question',
    (template: string) => template.replace(QUESTION, `${QUESTION} + (' now' if loop.last else '')`),
  ],
] as const;

const TTFTS = ['TTFT of turn 1, ms', 'turn 2', `turn ${turns}`];

/** Medians over conversations, for the turns that `TTFTS` names. */
function ttftsOf(conversations: readonly StreamedChat[][]): [number, number, number] {
  const ttftOf = (turn: number) => median(conversations.map((one) => one.at(turn)?.ttftMs ?? NaN));
  return [ttftOf(0), ttftOf(1), ttftOf(-1)];
}

/** Servers that run already; of prompts' tokens what they say that they computed, NaN if they do not say it. */
async function compareServers(servers: readonly NamedServer[]): Promise<void> {
  // Servers close what is idle while another has its turn.
  const agent = new Agent();
  const words = WORDS.map((text) => ({ text: ` ${text}` }));
  const all = new Map<string, StreamedChat[][]>();
  for (let round = 0; round < rounds; round++) {
    for (const { name, url } of servers) {
      const turnsOf = await loop(url, agent, words, round, { temperature: 0 });
      all.set(name, [...(all.get(name) ?? []), turnsOf]);
    }
  }
  agent.destroy();
  const rowOf = ([name, conversations]: [string, StreamedChat[][]]): string[] => {
    const sums = conversations.map((one) => one.reduce((sum, { ttftMs }) => sum + ttftMs, 0));
    const last = conversations.at(-1)?.at(-1)?.numPromptTokens ?? NaN;
    const times = [...ttftsOf(conversations), median(sums)].map((ms) => ms.toFixed(0));
    const computed = conversations.map((one) =>
      one.reduce((sum, each) => sum + each.numPromptTokens - each.numCachedTokens, 0),
    );
    return [name, String(last), String(median(computed)), ...times];
  };
  console.log(`${machineShape()}; ${turns} turns to ${tokens} tokens, rounds: ${rounds}\n`);
  printTable(['server', 'last prompt', 'computed', ...TTFTS, 'all turns'], [...all].map(rowOf));
}

/** Each a token of most vocabularies. */
const WORDS =
  'the water house light river stone paper green small large book table garden winter summer music'.split(
    ' ',
  );

if (values.server.length > 0) {
  await compareServers(namedServers(values.server));
  process.exit();
}

const folder = await mkdtemp(join(tmpdir(), 'chairlift-agent-loop-'));
const agent = new Agent();
const results: object[] = [];
const rows: string[][] = [];
try {
  for (const [index, [template, edit]] of TEMPLATES.entries()) {
    const model = join(folder, String(index));
    const words = await writeAgentModel(model, 2 * tokens, edit);
    const flags = ['--model', model, '--random-weights', '1', '--max-num-seqs', '4'];
    const server = await startServer(flags);
    const conversations: StreamedChat[][] = [];
    for (let round = 0; round < rounds; round++) {
      const fields = { allowed_token_ids: words.map(({ id }) => id) };
      conversations.push(await loop(server.url, agent, words, round, fields));
    }
    await server.close();
    const all = conversations.flat();
    const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
    const generated = all.length * ANSWER_TOKENS;
    const computed =
      sum(all.map((each) => each.numPromptTokens - each.numCachedTokens)) + generated;
    // Each token of the last prompt, and the last answer, was new once.
    const lasts = conversations.map((each) => each.at(-1)?.numPromptTokens ?? NaN);
    const fresh = sum(lasts) + rounds * ANSWER_TOKENS;
    const [first, second, last] = ttftsOf(conversations);
    results.push({ template, computed, new: fresh, first, second, last });
    rows.push([
      template,
      ...[computed, fresh].map((each) => Math.round(each / rounds).toLocaleString('en')),
      (computed / fresh).toFixed(3),
      ...[first, second, last].map((ms) => ms.toFixed(0)),
    ]);
  }
} finally {
  agent.destroy();
  await rm(folder, { recursive: true, force: true });
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), turns, tokens, rounds, results }));
} else {
  console.log(`${machineShape()}; ${turns} turns to ${tokens} tokens, rounds: ${rounds}\n`);
  printTable(['template', 'computed', 'new', 'ratio', ...TTFTS], rows);
}
