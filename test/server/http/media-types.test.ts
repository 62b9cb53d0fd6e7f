import { expect, test } from 'vitest';
import { post } from '../support/client.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();

const messages = [{ role: 'user', content: 'Hi' }];

/** As LiteLLM (none, `octet-stream`) and curl (`x-www-form-urlencoded`) send JSON. */
const TYPES = [null, 'application/octet-stream', 'application/x-www-form-urlencoded'];

test.each([
  ['/v1/chat/completions', { messages }],
  ['/chat/completions', { messages }],
  ['/v1/completions', { prompt: 'Hi' }],
  ['/v1/responses', { input: 'Hi' }],
  ['/responses', { input: 'Hi' }],
  ['/v1/messages', { messages, max_tokens: 4 }],
  ['/v1/messages/count_tokens', { messages }],
  ['/v1/embeddings', { input: 'Hi' }],
  ['/api/chat', { messages }],
  ['/api/generate', { prompt: 'Hi' }],
  ['/api/embed', { model: 'org/fake-model', input: 'Hi' }],
  ['/api/show', { model: 'org/fake-model' }],
  ['/tokenize', { prompt: 'Hi' }],
])('%s takes JSON of any media type, or none, from what is no web page', async (path, body) => {
  const target = await server();
  for (const type of TYPES) {
    const response = await fetch(target.url + path, {
      method: 'POST',
      // Bytes, for which fetch names no type.
      body: Buffer.from(JSON.stringify(body)),
      headers: type === null ? {} : { 'content-type': type },
    });
    expect([type, response.status]).toEqual([type, 200]);
    await response.text();
  }
});

test('what is no JSON is refused, whatever it is called', async () => {
  const target = await server();
  const headers = { 'content-type': 'multipart/form-data; boundary=x' };
  const response = await post(target, '/v1/completions', '--x\r\n\r\n--x--', { headers });
  expect(response.status).toBe(400);
});

test('a path without /v1, or with it twice, is answered with the one that was meant', async () => {
  const target = await server();
  const hint = async (path: string) => await (await post(target, path, {})).text();
  expect(await hint('/completions')).toContain('Did you mean /v1/completions?');
  expect(await hint('/v1/v1/embeddings')).toContain('Did you mean /v1/embeddings?');
  expect(await hint('/elsewhere')).not.toContain('Did you mean');
});
