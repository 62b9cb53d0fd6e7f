import { describe, expect, test } from 'vitest';
import { ThoughtBudgets } from '../../src/engine/sampling/thought-budget.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { thoughtMarks } from '../../src/front/chat/thought-marks.ts';
import { byteLevel } from '../../src/front/grammars/grammar-vocabulary.ts';
import { THINK } from '../support/chat-formats.ts';
import type { Script } from '../support/fake-engine.ts';
import { answerOf, errorOf, post } from './support/client.ts';
import { EOS_TOKEN_ID, says, tokensOf, useServers } from './support/test-server.ts';

const server = useServers();
const CHAT = '/v1/chat/completions';
const messages = [{ role: 'user', content: 'Hi' }];

const tokens = Array.from({ length: 95 }, (_, id) => byteLevel(String.fromCharCode(32 + id)));
const marks = thoughtMarks(THINK, tokens, { specialTexts: [], tokenToId: () => undefined });
const chatFormat = { toolCalls: null, reasoning: THINK, thoughtMarks: marks };

/** Thinks for ever, unless it is told to come to an end; then it says a word. */
const broods: Script = function* (_prompt, request) {
  const budgets = new ThoughtBudgets(tokens);
  const sequence = new Sequence({ ...request, id: 1 });
  const script = [...tokensOf('<think>'), ...tokensOf('Hm. '.repeat(20))];
  let hasEnded = false;
  for (const tokenId of script) {
    let next = budgets.forcedToken(sequence, 0);
    for (; next !== null; next = budgets.forcedToken(sequence, 0)) {
      hasEnded = true;
      sequence.append(next);
      yield next;
    }
    if (hasEnded) break;
    sequence.append(tokenId);
    yield tokenId;
  }
  yield* [...tokensOf('So.'), EOS_TOKEN_ID];
};

describe('a budget of thoughts', () => {
  test.each([0, 1, 7, 30])('of %i tokens, of each choice', async (budget) => {
    const target = await server({ script: broods, chatFormat });
    const body = { messages, n: 2, thinking_token_budget: budget };
    const answer = await answerOf(await post(target, CHAT, body));
    expect(answer.usage?.completion_tokens_details?.reasoning_tokens).toBe(2 * budget);
    for (const { message } of answer.choices) expect(message).toMatchObject({ content: 'So.' });
  });

  test.each<[string, object, number | undefined]>([
    [CHAT, { messages, thinking_token_budget: 5 }, 5],
    [CHAT, { messages }, 9],
    [CHAT, { messages, thinking_token_budget: -1 }, undefined],
    ['/v1/responses', { input: 'Hi', thinking_token_budget: 0 }, 0],
    [
      '/v1/messages',
      { messages, max_tokens: 20, thinking: { type: 'enabled', budget_tokens: 6 } },
      6,
    ],
    ['/v1/messages', { messages, max_tokens: 20, thinking: { type: 'adaptive' } }, 9],
    ['/api/chat', { messages }, 9],
  ])('%s %j, with 9 as the server`s own', async (path, body, maxTokens) => {
    const target = await server({ chatFormat: { ...chatFormat, reasoningBudget: 9 } });
    expect((await post(target, path, body)).status).toBe(200);
    expect(target.engine.requests.at(-1)?.thought?.maxTokens).toBe(maxTokens);
  });

  test.each<[string, object, string, RegExp]>([
    [CHAT, { messages, thinking_token_budget: -2 }, 'thinking_token_budget', />=-1/],
    [CHAT, { messages, thinking_token_budget: 1.5 }, 'thinking_token_budget', /int/],
    [
      CHAT,
      { messages, max_tokens: 10, thinking_token_budget: 11 },
      'thinking_token_budget',
      /is 11, more than the 10 tokens of `max_tokens`/,
    ],
    [
      '/v1/completions',
      { prompt: 'Hi', thinking_token_budget: 1 },
      'thinking_token_budget',
      /chats/,
    ],
  ])('%s refuses %j', async (path, body, param, message) => {
    const target = await server({ chatFormat });
    const error = await errorOf(await post(target, path, body), 400);
    expect(error).toMatchObject({ param, message: expect.stringMatching(message) });
  });

  test('of the Messages API is no more than its tokens', async () => {
    const target = await server({ chatFormat });
    const thinking = { type: 'enabled', budget_tokens: 21 };
    const response = await post(target, '/v1/messages', { messages, max_tokens: 20, thinking });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('thinking.budget_tokens` is 21, more than the 20');
  });

  test('changes nothing of a model that does not think, and of a prompt that has ended the thought', async () => {
    const body = { messages, thinking_token_budget: 3 };
    for (const format of [
      { toolCalls: null, reasoning: null, reasoningBudget: 4 },
      { ...chatFormat, reasoning: { ...THINK, close: 'assistant:' } },
    ]) {
      const target = await server({ script: says('So.'), chatFormat: format });
      expect((await post(target, CHAT, body)).status).toBe(200);
      expect(target.engine.requests.at(-1)?.thought).toBeUndefined();
    }
  });

  test('is refused where no token ends a thought', async () => {
    const target = await server({ chatFormat: { ...chatFormat, thoughtMarks: null } });
    const body = { messages, thinking_token_budget: 3 };
    const { message } = await errorOf(await post(target, CHAT, body), 400);
    expect(message).toContain('no tokens to end its thoughts with');
  });
});
