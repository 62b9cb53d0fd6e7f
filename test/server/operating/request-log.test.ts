/** The lines that a log has of requests. */
import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { ApiKeys, digestOf } from '../../../src/server/auth/api-keys.ts';
import { errorOf, post } from '../support/client.ts';
import { babbles, MODEL, type TestServerOptions, useServers } from '../support/test-server.ts';
import { connect } from '../support/web-socket.ts';

const server = useServers();

/** A server, and what it logs. */
async function logging(options: TestServerOptions = {}, level = 'info') {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string): void => {
    lines.push(z.record(z.string(), z.unknown()).parse(JSON.parse(line)));
  };
  const target = await server({ ...options, logger: pino({ level }, { write }) });
  return { target, lines };
}

const keys = new ApiKeys([{ client: 'alice', digest: digestOf('secret-key') }]);
const chat = { messages: [{ role: 'user', content: 'a private question' }] };

test('a request is one line, with where its time went, and nothing of its text or key', async () => {
  const { target, lines } = await logging({ keys, engine: { numCachedTokens: 5 } });
  const headers = {
    authorization: 'Bearer secret-key',
    'x-request-id': 'my-id',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  };
  const body = { ...chat, max_tokens: 4, stream: true };
  await (await post(target, '/v1/chat/completions', body, { headers })).text();
  await vi.waitFor(() => expect(lines).toHaveLength(1));
  expect(lines[0]).toMatchObject({
    msg: 'request',
    requestId: 'my-id',
    traceId: '0af7651916cd43dd8448eb211c80319c',
    method: 'POST',
    path: '/v1/chat/completions',
    client: 'alice',
    status: 200,
    durationMs: expect.any(Number),
    model: MODEL,
    tokens: { prompt: 36, cached: 5, output: 4 },
    finishReason: 'length',
  });
  const stages = z.record(z.string(), z.number()).parse(lines[0]?.['stagesMs']);
  expect(Object.keys(stages)).toEqual([
    'receive',
    'tokenize',
    'queue',
    'prefill',
    'decode',
    'detokenize',
    'send',
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/private|secret-key|Hello/);
});

test('refused, failed and abandoned requests have theirs', async () => {
  const { target, lines } = await logging({ script: babbles, engine: { heldAfter: 1 } });
  await errorOf(await post(target, '/v1/completions', { prompt: 'Hi', n: 0 }), 400);
  const leaving = new AbortController();
  const body = { prompt: 'Hi', max_tokens: 200, stream: true };
  await post(target, '/v1/completions', body, { signal: leaving.signal });
  leaving.abort();
  await vi.waitFor(() => expect(lines).toHaveLength(2));
  expect(lines[0]).toMatchObject({ status: 400 });
  expect(lines[0]).not.toHaveProperty('model');
  expect(lines[1]).toMatchObject({ model: MODEL, finishReason: 'abort' });
  await errorOf(
    await post(target, '/v1/completions', { ...body, stream: false, timeout: 0.1 }),
    504,
  );
  await vi.waitFor(() => expect(lines).toHaveLength(3));
  expect(lines[2]).toMatchObject({ status: 504, finishReason: 'timeout' });
});

test('probes and scrapes are silent, unless one is debugging', async () => {
  const paths = ['/health', '/ready', '/readyz', '/livez', '/metrics', '/v2/health/live'];
  const { target, lines } = await logging();
  for (const path of paths) await (await fetch(target.url + path)).text();
  await (await fetch(`${target.url}/v1/models`)).text();
  await vi.waitFor(() => expect(lines).toHaveLength(1));
  const { target: other, lines: all } = await logging({}, 'debug');
  for (const path of paths) await (await fetch(other.url + path)).text();
  await vi.waitFor(() => expect(all).toHaveLength(paths.length));
});

test('the beginning of a prompt is there only with --log-prompts', async () => {
  const { target, lines } = await logging({ config: { logPrompts: true }, maxModelLen: 2000 });
  await (await post(target, '/v1/chat/completions', chat)).text();
  await (await post(target, '/v1/completions', { prompt: 'a'.repeat(1000) })).text();
  await vi.waitFor(() => expect(lines).toHaveLength(2));
  expect(lines[0]).toMatchObject({ prompt: 'user: a private question\nassistant: ' });
  expect(lines[1]).toMatchObject({ prompt: 'a'.repeat(256) });
});

test('requests on WebSockets have lines, by the ids of their frames', async () => {
  const { target, lines } = await logging({ keys });
  const socket = await connect(target, '/v1/completions', {
    authorization: 'Bearer secret-key',
  });
  socket.send({ request_id: 'frame-1', prompt: 'Hi', max_tokens: 2 });
  await socket.answer('frame-1');
  socket.send({ request_id: 'frame-2', prompt: 'Hi', n: 0 });
  await socket.answer('frame-2');
  await vi.waitFor(() => expect(lines).toHaveLength(2));
  expect(lines).toMatchObject([
    {
      requestId: 'frame-1',
      method: 'WS',
      path: '/v1/completions',
      client: 'alice',
      status: 200,
      model: MODEL,
      tokens: { prompt: 2, cached: 0, output: 2 },
    },
    { requestId: 'frame-2', status: 400 },
  ]);
});
