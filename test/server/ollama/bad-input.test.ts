import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { post } from '../support/client.ts';
import { useServers } from '../support/test-server.ts';
import { expectOllamaError } from './support.ts';

const server = useServers();
const user = { role: 'user', content: 'Hi' };

describe.each([
  ['/api/generate', { prompt: 'Hi' }],
  ['/api/chat', { messages: [user] }],
])('%s refuses', (path, valid) => {
  test.each([
    ['options.temperature', { options: { temperature: 'hot' } }],
    ['options.temperature', { options: { temperature: 3 } }],
    ['options.top_p', { options: { top_p: 0 } }],
    ['options.top_k', { options: { top_k: -2 } }],
    ['options.min_p', { options: { min_p: 2 } }],
    ['options.seed', { options: { seed: 1.5 } }],
    ['options.repeat_penalty', { options: { repeat_penalty: 0 } }],
    ['options.presence_penalty', { options: { presence_penalty: 3 } }],
    ['options.frequency_penalty', { options: { frequency_penalty: -3 } }],
    ['options.num_predict', { options: { num_predict: 0 } }],
    ['options.num_predict', { options: { num_predict: -3 } }],
    ['options.stop.0', { options: { stop: [''] } }],
    ['options', { options: [1] }],
    ['mirostat', { options: { mirostat: 2 } }],
    ['options.typical_p', { options: { typical_p: 0 } }],
    ['stream', { stream: 'yes' }],
    ['model', { model: 5 }],
    ['format', { format: 'xml' }],
    ['format', { format: { type: 'strin' } }],
    ['format', { format: [1] }],
    ['think', { think: 'much' }],
    ['keep_alive', { keep_alive: 'long' }],
    ['keep_alive', { keep_alive: {} }],
    ['suffix', { suffix: 'b' }],
    ['images', { images: 'aGk=' }],
    ['template', { template: '{{ .Prompt }}' }],
    ['context', { context: [1, 2] }],
    ['logprobs', { logprobs: 3 }],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
    ['top_logprobs', { top_logprobs: 2 }],
  ])('a bad %s: %j', async (param, fields) => {
    const target = await server();
    const error = await expectOllamaError(await post(target, path, { ...valid, ...fields }), 400);
    expect(error).toContain(`\`${param}\``);
    expect(target.engine.requests).toHaveLength(0);
    expect((await post(target, path, valid)).status).toBe(200);
  });

  test('what is not JSON, not an object, of another type or too large', async () => {
    const target = await server({ config: { maxBodyBytes: 1000 } });
    await expectOllamaError(await post(target, path, '{"prompt": '), 400);
    for (const body of ['[]', '"text"', 'null']) {
      await expectOllamaError(await post(target, path, body), 400);
    }
    const headers = { 'content-type': 'text/plain', origin: 'http://evil.example' };
    await expectOllamaError(await post(target, path, valid, { headers }), 415);
    await expectOllamaError(await post(target, path, { ...valid, x: 'x'.repeat(2000) }), 413);
  });

  test('an unknown model', async () => {
    const response = await post(await server(), path, { ...valid, model: 'other:latest' });
    expect(await expectOllamaError(response, 404)).toContain('`other` does not exist');
  });

  test('fields that are null or change nothing pass', async () => {
    const neutral = {
      suffix: '',
      images: [],
      template: '',
      context: [],
      logprobs: false,
      options: { mirostat: 0, typical_p: 1, num_ctx: 4096, num_gpu: 1, temperature: null },
      think: null,
      format: null,
      keep_alive: null,
      surprise: 1,
    };
    expect((await post(await server(), path, { ...valid, ...neutral })).status).toBe(200);
  });
});

test.each([
  ['messages', { messages: 'Hi' }],
  ['messages.0', { messages: ['Hi'] }],
  ['messages.0.role', { messages: [{ content: 'Hi' }] }],
  ['messages.1.role', { messages: [user, { role: 'robot', content: 'Hi' }] }],
  ['messages.0.content', { messages: [{ role: 'user', content: 5 }] }],
  ['messages.0.images', { messages: [{ ...user, images: 'aGk=' }] }],
  ['messages.0.images.0', { messages: [{ ...user, images: ['aGk='] }] }],
  ['messages.0.tool_calls.0.function', { messages: [{ ...user, tool_calls: [{}] }] }],
  ['messages', { messages: Array.from({ length: LIMITS.messages + 1 }, () => user) }],
  ['tools.0.type', { messages: [user], tools: [{ type: 'code', function: { name: 'f' } }] }],
])('/api/chat refuses a bad %s', async (param, body) => {
  const error = await expectOllamaError(await post(await server(), '/api/chat', body), 400);
  expect(error).toContain(`\`${param}\``);
});

test.each([
  ['prompt', { prompt: 5 }],
  ['system', { prompt: 'Hi', system: [] }],
  ['raw', { prompt: 'Hi', raw: 'yes' }],
])('/api/generate refuses a bad %s', async (param, body) => {
  const error = await expectOllamaError(await post(await server(), '/api/generate', body), 400);
  expect(error).toContain(`\`${param}\``);
});
