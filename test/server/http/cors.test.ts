import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { errorOf, post } from '../support/client.ts';
import { useServers } from '../support/test-server.ts';
import { connect, refusal } from '../support/web-socket.ts';

const server = useServers();
const origin = 'https://chat.example';
const config = { corsOrigins: [origin], apiKeys: ['key'] };

function preflight(url: string, from: string): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'OPTIONS',
    headers: {
      origin: from,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-os',
    },
  });
}

describe('a page of a named origin', () => {
  test('gets a preflight answered without a key', async () => {
    const { url } = await server({ config });
    const response = await preflight(url, origin);
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('access-control-allow-methods')).toContain('POST');
    expect(response.headers.get('access-control-allow-headers')).toContain('x-stainless-os');
  });

  test.each([
    [{ prompt: 'Hi' }, 200],
    [{ prompt: 'Hi', stream: true }, 200],
    [{ prompt: '' }, 400],
  ])('may read the answer to %j', async (body, status) => {
    const headers = { origin, authorization: 'Bearer key' };
    const response = await post(await server({ config }), '/v1/completions', body, { headers });
    expect(response.status).toBe(status);
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    expect(response.headers.get('access-control-expose-headers')).toContain('x-request-id');
    await response.text();
  });

  test('may read that its key is wrong', async () => {
    const headers = { origin, authorization: 'Bearer wrong' };
    const target = await server({ config });
    const response = await post(target, '/v1/completions', { prompt: 'Hi' }, { headers });
    expect(response.headers.get('access-control-allow-origin')).toBe(origin);
    await errorOf(response, 401);
  });

  test('may open a WebSocket', async () => {
    const target = await server({ config: { corsOrigins: [origin] } });
    const client = await connect(target, '/v1/completions', { origin });
    client.send({ request_id: 'a', prompt: 'Hi' });
    expect(await client.answer('a')).toHaveLength(2);
  });
});

describe('other pages', () => {
  test.each([[config], [{}]])('get no leave: %j', async (options) => {
    const { url } = await server({ config: options });
    const response = await preflight(url, 'https://evil.example');
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  });

  test.each([[config], [{}]])('are told what lets them, and the log once: %j', async (options) => {
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
    const { url } = await server({ config: options, logger });
    for (let asked = 0; asked < 2; asked++) {
      const error = await errorOf(await preflight(url, 'http://localhost:3000'), 403);
      expect(error).toMatchObject({ code: 'origin_not_allowed' });
      expect(error.message).toContain('--cors-origin http://localhost:3000');
    }
    for (let port = 0; port < 100; port++) await preflight(url, `http://localhost:${port}`);
    expect(lines.filter((line) => line.includes('localhost:3000 '))).toHaveLength(1);
    expect(lines.length).toBeLessThanOrEqual(16);
  });

  test('open no WebSocket', async () => {
    const target = await server();
    const headers = { origin: 'https://evil.example' };
    const response = await refusal(target, '/v1/completions', headers);
    expect(await errorOf(response, 403)).toMatchObject({ code: 'origin_not_allowed' });
  });

  test('do not include those of the server itself', async () => {
    const target = await server();
    const client = await connect(target, '/v1/completions', { origin: target.url });
    client.send({ request_id: 'a', prompt: 'Hi' });
    expect(await client.answer('a')).toHaveLength(2);
  });

  test('are all let in with *', async () => {
    const target = await server({ config: { corsOrigins: ['*'] } });
    const headers = { origin: 'null' };
    const response = await post(target, '/v1/completions', { prompt: 'Hi' }, { headers });
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    await connect(target, '/v1/completions', headers);
  });
});
