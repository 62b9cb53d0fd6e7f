/** Agents shorten a conversation once they are told that it is too long: every API says so in the same word. */
import { expect, test } from 'vitest';
import { errorOf, post } from './support/client.ts';
import { useServers } from './support/test-server.ts';

const server = useServers();
const long = 'a'.repeat(400);
const messages = [{ role: 'user', content: long }];
const MODEL = '/v2/models/org%2Ffake-model';
const input = { name: 'text_input', datatype: 'BYTES', shape: [1], data: [long] };

test.each<[string, object]>([
  ['/v1/chat/completions', { messages }],
  ['/v1/completions', { prompt: long }],
  ['/v1/responses', { input: long }],
  ['/v1/messages', { messages, max_tokens: 9 }],
  ['/v1/messages', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 900 }],
  ['/infill', { input_prefix: long }],
  ['/completion', { prompt: long }],
  ['/invocations', { prompt: long }],
  ['/api/chat', { messages }],
  ['/api/generate', { prompt: long }],
  ['/v1/embeddings', { input: long }],
  ['/v1/prefetch', { prompt: long }],
  [`${MODEL}/generate`, { text_input: long }],
  [`${MODEL}/infer`, { inputs: [input] }],
])('%s names the code', async (path, body) => {
  const response = await post(await server({ fillsIn: true }), path, body);
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({
    status: 400,
    text: expect.stringContaining('"code":"context_length_exceeded"'),
  });
});

test('Claude Code is told in the words that it looks for', async () => {
  const target = await server();
  const messageOf = async (body: object) =>
    (await post(target, '/v1/messages', { max_tokens: 9, ...body })).text();
  expect(await messageOf({ messages })).toContain('"message":"prompt is too long: ');
  // A shorter conversation would not help.
  const short = [{ role: 'user', content: 'Hi' }];
  expect(await messageOf({ messages: short, max_tokens: 900 })).not.toContain('is too long');
});

test('other errors keep the form of their API', async () => {
  const response = await post(await server(), '/api/chat', { messages, stream: 'yes' });
  expect(await response.json()).toEqual({ error: expect.any(String) });
});

test('moderations are refused, and why', async () => {
  const response = await post(await server(), '/v1/moderations', { input: 'Hi' });
  const { message } = await errorOf(response, 501);
  expect(message).toContain('Nothing is moderated here');
});

test('Codex finds the list that it reads, and no other client does', async () => {
  const { url } = await server();
  const listOf = async (query: string) => (await fetch(`${url}/v1/models${query}`)).json();
  expect(await listOf('?client_version=0.169.0')).toMatchObject({ models: [], object: 'list' });
  expect(await listOf('')).not.toHaveProperty('models');
});

test.each([
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }],
  ['/v1/responses', { input: 'Hi' }],
])('%s takes `prompt_cache_key` and what newer clients send beside it', async (path, body) => {
  const newer = { prompt_cache_key: 'thread-1', prompt_cache_retention: '24h', verbosity: 'low' };
  expect((await post(await server(), path, { ...body, ...newer })).status).toBe(200);
});
