/** The model behind the agents' tests says what it is told to, in any batch, and its prefixes are found again. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { BLOCK_SIZE } from '../../src/engine/kv-cache/prefix-index.ts';
import { metric, post } from '../support/http-client.ts';
import { writeScriptedModel } from '../support/scripted-model.ts';
import { startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const TURNS = [
  'I go to the shop, and the shop is shut; the shop!',
  'I go to the park, and the park is open: the park!',
  'That was all: the shop is shut; the park is open.',
];

/** How the embedded model's template writes one. */
const QUESTION = `'<|im_start|>user\\n' + message['content']`;

const answer = z.object({
  choices: z.tuple([z.object({ message: z.object({ content: z.string() }) })]),
  usage: z.object({
    prompt_tokens: z.number(),
    prompt_tokens_details: z.object({ cached_tokens: z.number() }),
  }),
});

interface Message {
  readonly role: string;
  readonly content: string;
}

/** One more question of a chat. */
async function ask(url: string, messages: readonly Message[], further: object) {
  const response = await post(`${url}/v1/chat/completions`, {
    messages,
    temperature: 1.5,
    ...further,
  });
  const { choices, usage } = answer.parse(await response.json());
  const cached = usage.prompt_tokens_details.cached_tokens;
  return { text: choices[0].message.content, prompt: usage.prompt_tokens, cached };
}

const TOOLS = { tools: [{ type: 'function', function: { name: 'look' } }] };

/** Goes through all turns, and one more. @returns what was asked in each */
async function converse(url: string, name: string) {
  const messages: Message[] = [{ role: 'user', content: `${name}! `.repeat(100) }];
  const asked: Awaited<ReturnType<typeof ask>>[] = [];
  for (const expected of [...TURNS, TURNS[2]]) {
    const one = await ask(url, messages, TOOLS);
    expect(one.text).toBe(expected);
    asked.push(one);
    messages.push({ role: 'assistant', content: one.text }, { role: 'user', content: 'And then?' });
  }
  return asked;
}

test('says its turns in order to each of several at once, and computes only what is new', async () => {
  const model = join(cache.path, 'scripted');
  await writeScriptedModel(model, { turns: TURNS, withoutTools: 'No tools.' });
  const server = await startServer([model, '--max-num-seqs', '8'], cache.env);
  const names = ['Ann', 'Bob', 'Cid', 'Dan'];
  const chats = await Promise.all(names.map((name) => converse(server.url, name)));
  for (const asked of chats) {
    for (const [index, { cached }] of asked.slice(1).entries()) {
      expect(cached).toBeGreaterThan((asked[index]?.prompt ?? NaN) - BLOCK_SIZE);
    }
  }
  const bare = await ask(server.url, [{ role: 'user', content: 'Ann!' }], {});
  expect(bare.text).toBe('No tools.');
  await server.stop();
});

test('a template that writes history otherwise is followed up to its change', async () => {
  const model = join(cache.path, 'rewritten');
  await writeScriptedModel(model, { turns: TURNS });
  const path = join(model, 'tokenizer_config.json');
  const config = z.looseObject({ chat_template: z.string() });
  const own = config.parse(JSON.parse(await readFile(path, 'utf8')));
  // A mark of the last question, as some templates have it.
  const marked = own.chat_template.replace(
    QUESTION,
    `${QUESTION} + (' (now)' if loop.last else '')`,
  );
  await writeFile(path, JSON.stringify({ ...own, chat_template: marked }));
  const server = await startServer([model, '--speculative', 'off'], cache.env);
  const causes = ['absent', 'changed', 'new'] as const;
  const read = async () => {
    const misses = causes.map((cause) =>
      metric(server.url, 'chairlift_prefix_cache_misses_total', `cause="${cause}"`),
    );
    const found = metric(server.url, 'chairlift_prefix_cache_hits_total');
    return Promise.all([...misses, found]);
  };
  // The server has run requests of its own.
  const before = await read();
  const asked = await converse(server.url, 'Ann');
  const sinceBefore = async () =>
    (await read()).map((count, index) => count - (before[index] ?? 0));
  const looked = asked.reduce((sum, { prompt }) => sum + prompt, 0);
  const total = async () => (await sinceBefore()).reduce((sum, count) => sum + count);
  await expect.poll(total).toBe(looked);
  const [absent, changed = NaN] = await sinceBefore();
  const [first, ...later] = asked;
  expect(absent).toBe(first?.prompt);
  // In each turn the last one's mark, the end of its question, and its answer.
  expect(changed).toBeGreaterThan(10 * later.length);
  for (const [index, { cached }] of later.entries()) {
    const known = asked[index]?.prompt ?? NaN;
    expect(cached).toBeLessThan(known);
    expect(cached).toBeGreaterThan(known - 2 * BLOCK_SIZE);
  }
  await server.stop();
});
