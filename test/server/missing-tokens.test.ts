/** A tokenizer with a token that its model does not have, as fine-tunes may come with. */
import { describe, expect, test } from 'vitest';
import { errorOf, post } from './support/client.ts';
import { EOS_TOKEN_ID, says, tokensOf, useServers } from './support/test-server.ts';

const server = useServers();
const without = { vocabSize: EOS_TOKEN_ID, script: says('Hello') };

const REASON =
  'The token `<|end|>` (id 96) is in the tokenizer but not in the model, which has 96 tokens.';

describe('a text with the token is refused', () => {
  test.each([
    ['/v1/completions', { prompt: 'a<|end|>b' }, 'prompt'],
    ['/v1/completions', { prompt: ['a', 'b<|end|>'] }, 'prompt'],
    ['/v1/completions', { prompt: 'a', bad_words: ['<|end|>'] }, null],
    ['/v1/embeddings', { input: 'a<|end|>' }, null],
    ['/tokenize', { prompt: 'a<|end|>' }, 'prompt'],
  ])('%s %j', async (path, body, param) => {
    const target = await server(without);
    const response = await post(target, path, { max_tokens: 5, ...body });
    expect(await errorOf(response, 400)).toMatchObject({
      message: REASON,
      param,
      code: 'invalid_value',
    });
    expect(target.engine.requests).toEqual([]);
  });

  test('/api/generate', async () => {
    const response = await post(await server(without), '/api/generate', {
      prompt: 'a<|end|>',
      raw: true,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({ error: REASON });
  });
});

test('ids of the token are refused', async () => {
  const target = await server(without);
  const prompt = [EOS_TOKEN_ID];
  expect(await errorOf(await post(target, '/v1/completions', { prompt }), 400)).toMatchObject({
    param: 'prompt.0',
  });
  expect(await errorOf(await post(target, '/v1/embeddings', { input: prompt }), 400)).toMatchObject(
    { message: '96 is not a token id: they go from 0 to 95.' },
  );
});

test('in a chat it is text like any other', async () => {
  const target = await server(without);
  const messages = [{ role: 'user', content: '<|end|>' }];
  const response = await post(target, '/v1/chat/completions', { messages, max_tokens: 5 });
  expect(response.status).toBe(200);
  expect([...(target.engine.requests[0]?.promptTokenIds ?? [])]).toEqual(
    tokensOf('user: <|end|>\nassistant: '),
  );
});
