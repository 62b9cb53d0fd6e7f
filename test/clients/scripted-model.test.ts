/** The model behind the agents' tests says what it is told to, in any batch, and its prefixes are found again. */
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { z } from 'zod';
import { post } from '../support/http-client.ts';
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

test('says its turns in order to each of several at once, and computes only what is new', async () => {
  const model = join(cache.path, 'scripted');
  await writeScriptedModel(model, { turns: TURNS, withoutTools: 'No tools.' });
  const server = await startServer([model, '--max-num-seqs', '8'], cache.env);
  const tools = [{ type: 'function', function: { name: 'look' } }];
  const ask = async (messages: readonly Message[], further: object = { tools }) => {
    const response = await post(`${server.url}/v1/chat/completions`, {
      messages,
      temperature: 1.5,
      ...further,
    });
    const { choices, usage } = answer.parse(await response.json());
    const cached = usage.prompt_tokens_details.cached_tokens;
    return { text: choices[0].message.content, prompt: usage.prompt_tokens, cached };
  };
  const converse = async (name: string) => {
    const messages: Message[] = [{ role: 'user', content: `${name}! `.repeat(100) }];
    let known = 0;
    for (const expected of [...TURNS, TURNS[2]]) {
      const { text, prompt, cached } = await ask(messages);
      expect(text).toBe(expected);
      expect(cached).toBeGreaterThan(known - 16);
      known = prompt;
      messages.push({ role: 'assistant', content: text }, { role: 'user', content: 'And then?' });
    }
  };
  await Promise.all(['Ann', 'Bob', 'Cid', 'Dan'].map(converse));
  const bare = await ask([{ role: 'user', content: 'Ann!' }], {});
  expect(bare.text).toBe('No tools.');
  await server.stop();
});
