import { describe, expect, test } from 'vitest';
import type { GenerationDelta } from '../../src/front/generation/generation.ts';
import { answerOf, errorOf, post } from './support/client.ts';
import { MAX_MODEL_LEN, useServers, VOCAB_SIZE } from './support/test-server.ts';

const server = useServers();

const tool = { type: 'function', function: { name: 'add' } };
const named = (name: string) => ({ type: 'function', function: { name } });
const user = { role: 'user', content: 'Hi' };

describe.each([
  ['/v1/completions', { prompt: 'Hi' }],
  ['/v1/chat/completions', { messages: [user] }],
])('%s refuses', (path, valid) => {
  test.each([
    ['temperature', { temperature: 'hot' }],
    ['temperature', { temperature: 2.1 }],
    ['temperature', { temperature: -1 }],
    ['top_p', { top_p: 0 }],
    ['top_p', { top_p: 1.5 }],
    ['top_k', { top_k: 1.5 }],
    ['top_k', { top_k: -2 }],
    ['min_p', { min_p: 2 }],
    ['repetition_penalty', { repetition_penalty: 0 }],
    ['presence_penalty', { presence_penalty: 3 }],
    ['frequency_penalty', { frequency_penalty: -3 }],
    ['seed', { seed: 1.5 }],
    ['seed', { seed: 2 ** 65 }],
    ['max_tokens', { max_tokens: 0 }],
    ['max_tokens', { max_tokens: -5 }],
    ['max_tokens', { max_tokens: 'many' }],
    ['min_tokens', { min_tokens: -1 }],
    ['min_tokens', { max_tokens: 4, min_tokens: 5 }],
    ['stop', { stop: 5 }],
    ['stop.0', { stop: '' }],
    ['stop.1', { stop: ['a', ''] }],
    ['stop', { stop: Array.from({ length: 17 }, () => 'a') }],
    ['stop_token_ids.0', { stop_token_ids: [-1] }],
    ['stop_token_ids.1', { stop_token_ids: [0, VOCAB_SIZE] }],
    ['stream', { stream: 'yes' }],
    ['stream_options.include_usage', { stream: true, stream_options: { include_usage: 1 } }],
    ['model', { model: 5 }],
    ['n', { n: 0 }],
    ['n', { n: 129 }],
    ['n', { n: 101 }],
    ['best_of', { n: 2, best_of: 101 }],
    ['best_of', { n: 2, best_of: 1 }],
    ['best_of', { best_of: 2, stream: true }],
    ['logit_bias', { logit_bias: [1] }],
    ['logit_bias', { logit_bias: { [VOCAB_SIZE]: 1 } }],
    ['logit_bias', { logit_bias: { '-1': 1 } }],
    ['logit_bias', { logit_bias: { word: 1 } }],
    ['logit_bias.5', { logit_bias: { 5: 'much' } }],
    ['allowed_token_ids', { allowed_token_ids: [] }],
    ['allowed_token_ids', { allowed_token_ids: [1, -1] }],
    ['allowed_token_ids.1', { allowed_token_ids: [1, VOCAB_SIZE] }],
    ['bad_words.0', { bad_words: [''] }],
    ['bad_words', { bad_words: 'word' }],
    ['prompt_logprobs', { prompt_logprobs: 21 }],
    ['prompt_logprobs', { prompt_logprobs: 1, stream: true }],
    ['truncate_prompt_tokens', { truncate_prompt_tokens: -2 }],
    ['truncate_prompt_tokens', { truncate_prompt_tokens: 0 }],
    ['truncate_prompt_tokens', { truncate_prompt_tokens: MAX_MODEL_LEN + 1 }],
    ['response_format.type', { response_format: { type: 'xml' } }],
    ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
    ['structured_outputs.choice', { structured_outputs: { choice: [] } }],
    ['guided_regex', { guided_regex: 'a', structured_outputs: { choice: ['a'] } }],
    ['structured_outputs.structural_tag', { structured_outputs: { structural_tag: {} } }],
    ['structured_outputs.json', { structured_outputs: { json: { type: 'strin' } } }],
    ['structured_outputs.regex', { structured_outputs: { regex: '(' } }],
    ['logprobs', { logprobs: path === '/v1/completions' ? 21 : 3 }],
  ])('a bad %s: %j', async (param, fields) => {
    const { url } = await server({ maxSequencesPerRequest: 100 });
    const response = await post({ url }, path, { ...valid, ...fields });
    const error = await errorOf(response, 400);
    expect(error).toMatchObject({ type: 'invalid_request_error', param });
    expect(error.message).toContain(`\`${param}\``);
    await answerOf(await post({ url }, path, valid));
  });

  test('what is not JSON, and works on', async () => {
    const { url } = await server();
    const error = await errorOf(await post({ url }, path, '{"prompt": '), 400);
    expect(error).toMatchObject({ param: null, code: 'invalid_json' });
    await answerOf(await post({ url }, path, valid));
  });

  test.each(['[]', '"text"', 'null'])('the body %s', async (body) => {
    const error = await errorOf(await post(await server(), path, body), 400);
    expect(error.message).toContain('JSON object');
  });

  test.each([
    ['application/x-www-form-urlencoded', { origin: 'http://evil.example' }],
    ['text/plain', { origin: 'null' }],
    ['text/plain', { 'sec-fetch-site': 'cross-site' }],
  ])('a body of type %s of a page: %j', async (type, page) => {
    const headers = { 'content-type': type, ...page };
    const error = await errorOf(await post(await server(), path, valid, { headers }), 415);
    expect(error.message).toContain(type);
  });

  test('an unknown model', async () => {
    const response = await post(await server(), path, { ...valid, model: 'other' });
    expect(await errorOf(response, 404)).toMatchObject({
      type: 'NotFoundError',
      param: 'model',
      code: 'model_not_found',
    });
  });

  test.each([false, true])('prompt + max_tokens past the context, stream: %s', async (stream) => {
    const fields = { max_tokens: MAX_MODEL_LEN, stream };
    const error = await errorOf(await post(await server(), path, { ...valid, ...fields }), 400);
    expect(error).toMatchObject({ param: 'max_tokens', code: 'context_length_exceeded' });
    const numPrompt = path === '/v1/completions' ? 2 : 'user: Hi\nassistant: '.length;
    expect(error.message).toContain(`maximum context length is ${MAX_MODEL_LEN} tokens`);
    expect(error.message).toContain(`${numPrompt} in the prompt, ${MAX_MODEL_LEN} for the output`);
  });

  test.each([false, true])('a prompt past the context, stream: %s', async (stream) => {
    const content = 'x'.repeat(MAX_MODEL_LEN);
    const body = { prompt: content, messages: [{ ...user, content }], stream };
    const error = await errorOf(await post(await server(), path, body), 400);
    expect(error.code).toBe('context_length_exceeded');
    expect(error.param).toBe('prompt' in valid ? 'prompt' : 'messages');
    expect(error.message).toContain(`maximum context length is ${MAX_MODEL_LEN} tokens`);
  });

  test.each([false, true])('a body over the limit, chunked: %s', async (isChunked) => {
    const { url } = await server({ config: { maxBodyBytes: 1000 } });
    const text = JSON.stringify({ ...valid, padding: 'x'.repeat(2000) });
    const body = isChunked ? new Blob([text]).stream() : text;
    const error = await errorOf(await post({ url }, path, body), 413);
    expect(error.message).toContain('1000 bytes');
    await answerOf(await post({ url }, path, valid));
  });
});

describe('/v1/completions refuses', () => {
  test.each([
    ['prompt', {}],
    ['prompt', { prompt: '' }],
    ['prompt', { prompt: [] }],
    ['prompt.0', { prompt: [''] }],
    ['prompt.1', { prompt: ['a', ''] }],
    ['prompt.0', { prompt: [[]] }],
    ['prompt', { prompt: 5 }],
    ['prompt.0', { prompt: [true] }],
    ['prompt.1', { prompt: ['a', 5] }],
    ['prompt.1.0', { prompt: [[1], [-1]] }],
    ['prompt.1.1', { prompt: [[1], [1, VOCAB_SIZE]] }],
    ['prompt.1', { prompt: [1, -1] }],
    ['prompt.1', { prompt: [1, 1.5] }],
    ['prompt.2', { prompt: [1, 2, VOCAB_SIZE] }],
    ['prompt', { prompt: Array.from({ length: 129 }, () => 'a') }],
    ['echo', { prompt: 'a', echo: 'yes' }],
    ['max_tokens', { prompt: 'a', max_tokens: 0 }],
    ['suffix', { prompt: 'a', suffix: 'b' }],
    ['suffix', { prompt: 'a', suffix: 3 }],
  ])('a bad %s: %j', async (param, body) => {
    const error = await errorOf(await post(await server(), '/v1/completions', body), 400);
    expect(error).toMatchObject({ type: 'invalid_request_error', param });
  });
});

describe('/v1/chat/completions refuses', () => {
  test.each([
    ['messages', {}],
    ['messages', { messages: [] }],
    ['messages', { messages: 'Hi' }],
    ['messages.0', { messages: ['Hi'] }],
    ['messages.0.role', { messages: [{ content: 'Hi' }] }],
    ['messages.1.role', { messages: [user, { role: 'robot', content: 'Hi' }] }],
    ['messages.0.content', { messages: [{ role: 'user' }] }],
    ['messages.0.content', { messages: [{ role: 'user', content: 5 }] }],
    ['messages.0.content.0.type', { messages: [{ ...user, content: [{ type: 'video_url' }] }] }],
    [
      'messages.0.content.0.image_url',
      { messages: [{ ...user, content: [{ type: 'image_url' }] }] },
    ],
    ['messages.0.content.0.text', { messages: [{ ...user, content: [{ type: 'text' }] }] }],
    ['max_completion_tokens', { messages: [user], max_completion_tokens: 0 }],
    ['max_completion_tokens', { messages: [user], max_completion_tokens: 5000 }],
    ['tools.0.type', { messages: [user], tools: [{ type: 'code', function: { name: 'f' } }] }],
    ['top_logprobs', { messages: [user], top_logprobs: 2 }],
    ['top_logprobs', { messages: [user], logprobs: true, top_logprobs: 21 }],
    ['tool_choice', { messages: [user], tool_choice: 'required' }],
    ['tool_choice', { messages: [user], tool_choice: 'sometimes' }],
    ['tool_choice', { messages: [user], tools: [tool], tool_choice: named('other') }],
    // The model of these tests has no format of tool calls.
    ['tool_choice', { messages: [user], tools: [tool], tool_choice: named('add') }],
  ])('a bad %s: %j', async (param, body) => {
    const error = await errorOf(await post(await server(), '/v1/chat/completions', body), 400);
    expect(error).toMatchObject({ type: 'invalid_request_error', param });
  });
});

test('unknown fields and null for absent ones are accepted', async () => {
  const body = { prompt: 'Hi', surprise: { a: 1 }, n: 1, stop: null, seed: null, logprobs: null };
  const response = await post(await server(), '/v1/completions', body);
  expect(response.status).toBe(200);
});

test('stream_options without stream is accepted', async () => {
  const body = { messages: [user], stream_options: { include_usage: true } };
  const response = await post(await server(), '/v1/chat/completions', body);
  expect(response.status).toBe(200);
});

test('an unknown route is 404, a wrong method 405 with the right ones', async () => {
  const { url } = await server();
  expect((await errorOf(await post({ url }, '/v1/nothing', {}), 404)).message).toContain(
    '/v1/nothing',
  );
  const response = await fetch(`${url}/v1/completions`);
  expect(response.headers.get('allow')).toBe('POST');
  await errorOf(response, 405);
});

test('a fault of ours is 500 without its text', async () => {
  const { url, context } = await server({
    generator: {
      // oxlint-disable-next-line require-yield
      async *generate(): AsyncGenerator<GenerationDelta, void> {
        throw new Error('secret of /home/user/model.ts');
      },
    },
  });
  expect(context.logger.level).toBe('silent');
  const error = await errorOf(await post({ url }, '/v1/completions', { prompt: 'Hi' }), 500);
  expect(error.message).not.toContain('secret');
});
