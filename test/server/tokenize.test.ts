import { expect, test } from 'vitest';
import { z } from 'zod';
import { TextTokenizer } from '../../src/front/text/tokenizer.ts';
import { errorOf, post } from './support/client.ts';
import {
  EOS_TOKEN_ID,
  MAX_MODEL_LEN,
  tokensOf,
  useServers,
  VOCAB_SIZE,
} from './support/test-server.ts';

const server = useServers();

test('/tokenize gives the tokens of a prompt, with strings as the vocabulary spells them', async () => {
  const body = { prompt: 'a b<|end|>', return_token_strs: true };
  const response = await post(await server(), '/tokenize', body);
  expect(await response.json()).toEqual({
    count: 4,
    max_model_len: MAX_MODEL_LEN,
    tokens: [...tokensOf('a b'), EOS_TOKEN_ID],
    token_strs: ['a', 'Ġ', 'b', '<|end|>'],
  });
});

test.each([
  [{}, 'user: Hi\nassistant: '],
  [{ add_generation_prompt: false }, 'user: Hi\n'],
  [{ continue_final_message: true }, 'user: Hi'],
])('/tokenize takes messages with %j', async (fields, prompt) => {
  const body = { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }], ...fields };
  const response = await post(await server(), '/tokenize', body);
  expect(await response.json()).toMatchObject({ tokens: tokensOf(prompt), token_strs: null });
});

test('tools reach the template unless tool_choice is none', async () => {
  const tools = [{ type: 'function', function: { name: 'weather' } }];
  const body = { messages: [{ role: 'user', content: 'Hi' }], tools };
  const target = await server();
  const textWith = async (fields: object) => {
    const response = await post(target, '/tokenize', { ...body, ...fields });
    const { tokens } = z.object({ tokens: z.array(z.number()) }).parse(await response.json());
    return target.runtime.tokenizer.decode(tokens, { skipSpecialTokens: false });
  };
  expect(await textWith({})).toContain('"name": "weather"');
  expect(await textWith({ tool_choice: 'none' })).not.toContain('weather');
});

test('routers get token ids of prompts and chats by rendering them', async () => {
  const target = await server();
  const raw = await post(target, '/v1/completions/render', { prompt: 'a b' });
  expect(await raw.json()).toEqual([{ token_ids: tokensOf('a b'), features: null, count: 3 }]);
  const messages = [{ role: 'user', content: 'Hi' }];
  const chat = await post(target, '/v1/chat/completions/render', { messages });
  expect(await chat.json()).toMatchObject({
    token_ids: tokensOf('user: Hi\nassistant: '),
    features: { mm_hashes: { image: [] } },
  });
});

test('/detokenize undoes /tokenize', async () => {
  const tokens = [...tokensOf('a b'), EOS_TOKEN_ID];
  const response = await post(await server(), '/detokenize', { tokens });
  expect(await response.json()).toEqual({ prompt: 'a b<|end|>' });
});

test.each([
  ['/v1/completions/render', {}, 'prompt'],
  ['/tokenize', {}, 'prompt'],
  ['/tokenize', { prompt: 5 }, 'prompt'],
  ['/tokenize', { messages: [{ role: 'user' }] }, 'messages.0.content'],
  ['/detokenize', {}, 'tokens'],
  ['/detokenize', { tokens: 'abc' }, 'tokens'],
  ['/detokenize', { tokens: [1, VOCAB_SIZE] }, 'tokens.1'],
])('%s refuses %j', async (path, body, param) => {
  expect(await errorOf(await post(await server(), path, body), 400)).toMatchObject({ param });
});

test('a template that refuses the messages is a 400 with its words', async () => {
  const body = { messages: [{ role: 'user', content: 'Hi' }], continue_final_message: true };
  const both = { ...body, add_generation_prompt: true };
  const error = await errorOf(await post(await server(), '/tokenize', both), 400);
  expect(error.message).toContain('exclude each other');
});

test('/tokenize gives the bytes of tokens to those who ask, up to a limit', async () => {
  const target = await server({ maxModelLen: 20_000 });
  const body = { prompt: 'a\n<|end|>', return_token_bytes: true };
  const response = await post(target, '/tokenize', body);
  expect(await response.json()).toMatchObject({
    token_bytes: [[0x61], [0x0a], [...Buffer.from('<|end|>')]],
  });
  const long = { prompt: 'a b '.repeat(2100), return_token_bytes: true };
  const error = await errorOf(await post(target, '/tokenize', long), 400);
  expect(error).toMatchObject({ param: 'return_token_bytes' });
  expect(error.message).toContain('8192');
  expect((await post(target, '/tokenize', { prompt: long.prompt })).status).toBe(200);
});

test('/tokenizer_info gives the configuration of the tokenizer, and no paths', async () => {
  const target = await server();
  const response = await fetch(`${target.url}/tokenizer_info`);
  expect(await response.json()).toEqual({ tokenizer_class: 'FakeTokenizer', eos_token: '<|end|>' });
  await errorOf(await fetch(`${target.url}/tokenizer_info?model=none`), 404);
  await errorOf(await fetch(`${target.url}/tokenizer_info?model=${'n'.repeat(5000)}`), 400);
});

test('/tokenizer_info has the special tokens and the chat template of a model’s files', async () => {
  const tokenizer = await TextTokenizer.load('models/summit');
  expect(tokenizer.described).toMatchObject({
    eos_token: '<|im_end|>',
    chat_template: expect.stringContaining('<|im_start|>'),
  });
});
