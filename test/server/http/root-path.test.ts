import { once } from 'node:events';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { withoutRoot } from '../../../src/server/http/root-path.ts';
import { post } from '../support/client.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const config = { rootPath: '/llm' };

test.each([
  ['/llm/v1/models', '/v1/models'],
  ['/llm', '/'],
  ['/llm?a=/llm', '/?a=/llm'],
  ['/llm/llm/v1', '/llm/v1'],
  ['/llms/v1', '/llms/v1'],
  ['/v1/models', '/v1/models'],
  ['/LLM/v1', '/LLM/v1'],
])('%s is %s below /llm', (given, expected) => {
  expect(withoutRoot(given, '/llm')).toBe(expected);
});

test('what comes of any address is its end, and an address again', () => {
  const parts = fc.array(fc.constantFrom('/llm', '/', '?', '..', '%2f', 'llm', 'v1', '#'));
  fc.assert(
    fc.property(parts, (all) => {
      const given = `/${all.join('')}`;
      const rest = withoutRoot(given, '/llm');
      expect(rest.startsWith('/')).toBe(true);
      expect(given.endsWith(rest.replace(/^\/(?=\?|$)/, ''))).toBe(true);
    }),
  );
});

test('requests and sockets are taken below it, and where a proxy takes it away', async () => {
  const target = await server({ config });
  for (const root of ['', '/llm']) {
    const at = { url: target.url + root };
    const body = { prompt: 'Hi', max_tokens: 3 };
    expect((await post(at, '/v1/completions', body)).status).toBe(200);
    const socket = new WebSocket(`${at.url.replace('http', 'ws')}/v1/completions`);
    await once(socket, 'open');
    socket.close();
  }
  expect((await fetch(`${target.url}/llm`)).status).toBe(200);
  expect((await fetch(`${target.url}/llms/v1/models`)).status).toBe(404);
});

test('a key is asked for below it too', async () => {
  const { url } = await server({ config: { ...config, apiKeys: ['key'] } });
  for (const root of ['', '/llm', '/llm/llm']) {
    const { status } = await fetch(`${url}${root}/v1/models`);
    expect([401, 404]).toContain(status);
  }
  expect((await fetch(`${url}/llm/v1/models`)).status).toBe(401);
});

test('addresses that it tells are below it', async () => {
  const { url } = await server({ config });
  expect(await (await fetch(url)).json()).toMatchObject({
    openai_base_url: '/llm/v1',
    documentation: '/llm/docs',
  });
  expect(await (await fetch(`${url}/openapi.json`)).json()).toMatchObject({
    servers: [{ url: '/llm' }],
  });
  const page = await (await fetch(`${url}/llm/docs`)).text();
  expect(page).toContain(`${url}/llm/v1/chat/completions`);
  expect(page.match(/(?:href|src)="\/(?!llm\/)[^"]*"/g)).toBe(null);
});
