/** A budget of thoughts with the real model, whose closing mark is several tokens, through kills and drafts. */
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { metric, post } from '../support/http-client.ts';
import { LINUX, needs } from '../support/needs.ts';
import { until } from '../support/processes.ts';
import { engineOf, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

/** Begins each answer with a thought. */
const TEMPLATE =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n<think>\n';
const NUM_REQUESTS = 24;
const DEFAULT_BUDGET = 11;

const requests = Array.from({ length: NUM_REQUESTS }, (_, index) => ({
  messages: [{ role: 'user', content: `Tell me a story about the number ${index}.` }],
  max_tokens: 120,
  // No special tokens: they have no place in the text.
  logit_bias: { 0: -100, 1: -100, 2: -100 },
  n: 1 + (index % 3),
  ...(index % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: index }),
  // The others have the server's.
  ...(index % 4 === 0 ? {} : { thinking_token_budget: (index * 37) % 100 }),
}));

const answer = z.looseObject({
  choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string() }) })),
  usage: z.looseObject({
    completion_tokens_details: z.looseObject({ reasoning_tokens: z.number() }),
  }),
});

async function tellAll({ url }: ServerProcess) {
  return Promise.all(
    requests.map(async (body) => {
      const response = await post(`${url}/v1/chat/completions`, body);
      expect(response.status).toBe(200);
      return answer.parse(await response.json());
    }),
  );
}

async function killTwice(server: ServerProcess): Promise<void> {
  for (const tokens of [300, 1200]) {
    const told = () => metric(server.url, 'chairlift_generation_tokens_total');
    const before = await told();
    await until(async () => (await told()) - before > tokens, `${tokens} tokens`);
    // Tokens come from an engine that is there.
    process.kill(engineOf(server), 'SIGKILL');
  }
}

describe.each([
  ['without drafts', ['--speculative', 'off'], {}],
  ['with a draft model', ['--draft-model', 'models/foothill'], {}],
  ['with a durable KV cache', ['--durable-kv'], needs(LINUX)],
])('a budget of thoughts %s', (_way, flags, conditions) => {
  it('is kept to the token, of each choice, and kills change nothing', conditions, async () => {
    const own = ['--chat-template', TEMPLATE, '--reasoning-budget', `${DEFAULT_BUDGET}`];
    const server = await startServer([...flags, ...own], cache.env);
    const undisturbed = await tellAll(server);
    const [disturbed] = await Promise.all([tellAll(server), killTwice(server)]);
    const textsOf = (told: typeof disturbed) => told.map(({ choices }) => choices);
    expect(textsOf(disturbed)).toEqual(textsOf(undisturbed));
    expect(server.output()).toContain('SIGKILL');
    for (const [index, { choices, usage }] of disturbed.entries()) {
      const { n, thinking_token_budget: budget = DEFAULT_BUDGET } = requests[index] ?? {};
      expect(usage.completion_tokens_details.reasoning_tokens).toBe((n ?? 1) * budget);
      for (const { message } of choices) expect(message.content).not.toContain('think>');
    }
    await server.stop();
  });
});
