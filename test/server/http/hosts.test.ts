/** Names that a server answers to: a page whose own name points here must not read anything. */
import { request } from 'node:http';
import { describe, expect, test } from 'vitest';
import { isLoopback } from '../../../src/server/http/hosts.ts';
import { createApp } from '../../../src/server/app.ts';
import { errorOf, post } from '../support/client.ts';
import { useServers, type TestServerOptions } from '../support/test-server.ts';
import { connect, refusal } from '../support/web-socket.ts';

const server = useServers();

/** `fetch` sends no `Host` but its own. */
function getAs(url: string, host: string, path = '/v1/models'): Promise<Response> {
  return new Promise((resolve, reject) => {
    const options = { headers: { host }, setHost: false, agent: false };
    request(`${url}${path}`, options, (incoming) => {
      let body = '';
      incoming.on('data', (data: Buffer) => (body += data.toString('utf8')));
      incoming.on('end', () => {
        const contentType = incoming.headers['content-type'] ?? '';
        const init = { status: incoming.statusCode ?? 0, headers: { 'content-type': contentType } };
        resolve(new Response(body, init));
      });
    })
      .on('error', reject)
      .end();
  });
}

async function statusAs(host: string, config: TestServerOptions['config']): Promise<number> {
  const { url } = await server(config === undefined ? {} : { config });
  return (await getAs(url, host)).status;
}

describe('a server without keys on loopback', () => {
  test.each([
    'localhost',
    'localhost:8000',
    'LOCALHOST.:1',
    'app.localhost',
    '127.0.0.1:1',
    '127.9.9.9',
    '[::1]:8000',
  ])('answers to %s', async (host) => {
    expect(await statusAs(host, {})).toBe(200);
  });

  test.each([
    'attacker.example',
    'attacker.example:8000',
    'localhost.attacker.example',
    '127.0.0.1.attacker.example',
    'notlocalhost',
    '10.0.0.1',
    '0.0.0.0:8000',
    'chairlift',
    'attacker.local',
    '[::ffff:a00:1]',
  ])('refuses %j', async (host) => {
    const { url } = await server();
    for (const path of ['/v1/models', '/health', '/metrics', '/nowhere']) {
      const error = await errorOf(await getAs(url, host, path), 403);
      expect(error).toMatchObject({ code: 'host_not_allowed' });
      expect(error.message).toContain('--allowed-host');
    }
  });

  test.each([
    '127.0.0.1:8000@attacker.example',
    'localhost, attacker.example',
    '[::1',
    ':8000',
    '',
  ])('takes %j for no name at all', async (host) => {
    expect(await statusAs(host, {})).toBe(400);
  });

  test('opens WebSockets under its own names only', async () => {
    const target = await server();
    const path = '/v1/completions';
    // A rebound page's origin and host agree.
    const foreign = { host: 'attacker.example', origin: 'http://attacker.example' };
    await errorOf(await refusal(target, path, foreign), 403);
    (await connect(target, path, { host: 'localhost:1' })).socket.close();
  });

  test('answers to the names that the operator allows', async () => {
    const allowedHosts = ['chat.example'];
    expect(await statusAs('Chat.Example:443', { allowedHosts })).toBe(200);
    expect(await statusAs('other.example', { allowedHosts })).toBe(403);
    expect(await statusAs('other.example', { allowedHosts: ['*'] })).toBe(200);
  });
});

describe('a server without keys that other machines reach', () => {
  test.each([
    '10.0.0.1:8000',
    '[fe80::1]',
    'localhost',
    'chairlift:8000',
    'chairlift.default.svc.cluster.local',
    'host.docker.internal',
  ])('answers to %s', async (host) => {
    expect(await statusAs(host, { host: '0.0.0.0' })).toBe(200);
  });

  test.each(['attacker.example', '10.0.0.1.attacker.example'])('refuses %j', async (host) => {
    expect(await statusAs(host, { host: '0.0.0.0' })).toBe(403);
  });

  test.each([
    ['chairlift.default.svc', true],
    ['Chairlift.default.svc.:80', true],
    ['svc', true],
    // Anybody can have these, whatever namespaces are called.
    ['attacker.dev', false],
    ['chairlift.default', false],
    ['attacker.svc.example', false],
    ['attacker-svc', true],
    ['attackersvc.example', false],
  ])('in a pod of Kubernetes: %s %s', async (host, isAllowed) => {
    const status = isAllowed ? 200 : 403;
    expect(await statusAs(host, { host: '0.0.0.0', isInCluster: true })).toBe(status);
  });

  test('outside of Kubernetes a Service has no name', async () => {
    expect(await statusAs('chairlift.default.svc', { host: '0.0.0.0' })).toBe(403);
    const loopback = { host: '127.0.0.1', isInCluster: true };
    expect(await statusAs('chairlift.default.svc', loopback)).toBe(403);
  });

  test('answers to the name it was given', async () => {
    expect(await statusAs('llm.example', { host: 'llm.example' })).toBe(200);
  });
});

/** Statuses: unserved paths are told whoever asks; the operator's are refused before a body is read. */
const STATUSES: Readonly<Record<string, number>> = {
  '/api/create': 501,
  '/api/copy': 501,
  '/api/push': 501,
  '/api/pull': 403,
  '/models/load': 403,
  '/sleep': 403,
  '/wake_up': 403,
  '/v1/load_lora_adapter': 403,
  '/v1/unload_lora_adapter': 403,
  '/models/unload': 403,
  '/admin/log-level': 403,
  '/internal/v1/resume': 401,
  // Forms may come from other pages: their origin is refused before their type is looked at.
  '/v1/files': 403,
  '/v1/audio/transcriptions': 403,
  '/v1/audio/translations': 403,
  // There is no folder for them.
  '/v1/batches': 501,
  '/v1/moderations': 501,
};

test('no page can post what it may post without asking first', async () => {
  const target = await server();
  const routes = createApp(target.context).routes.filter(({ method }) => method === 'POST');
  const paths = new Set(routes.map(({ path }) => path).filter((path) => !/[:*]/.test(path)));
  expect(paths.size).toBeGreaterThan(5);
  for (const path of paths) {
    const headers = { 'content-type': 'text/plain', origin: 'http://attacker.example' };
    const response = await post(target, path, { prompt: 'Hi', input: 'Hi' }, { headers });
    expect([path, response.status]).toEqual([path, STATUSES[path] ?? 415]);
  }
  expect(target.engine.requests).toEqual([]);
});

test('with keys every name is good: a page does not know them', async () => {
  const { url } = await server({ config: { apiKeys: ['key'] } });
  expect((await getAs(url, 'llm.example', '/health')).status).toBe(200);
});

test.each([
  ['127.0.0.1', true],
  ['127.255.0.1', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['localhost', true],
  ['0.0.0.0', false],
  ['::', false],
  ['192.168.0.1', false],
  ['127.attacker.example', false],
  ['localhost.example', false],
])('%s is loopback: %s', (host, is) => {
  expect(isLoopback(host)).toBe(is);
});
