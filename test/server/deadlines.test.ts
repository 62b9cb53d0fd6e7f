import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { Caller } from '../../src/front/caller.ts';
import { errorOf, eventsOf, post } from './support/client.ts';
import { babbles, useServers } from './support/test-server.ts';
import { connect } from './support/web-socket.ts';

const server = useServers();
const endless = { prompt: 'Hi', max_tokens: 200 };

test('a request that waits past its timeout gets 504', async () => {
  const target = await server({ script: babbles, engine: { heldAfter: 1 }, concurrency: 1 });
  const abort = new AbortController();
  const first = post(target, '/v1/completions', { ...endless, stream: true }, abort);
  await first;
  const body = { ...endless, timeout: 0.1 };
  const error = await errorOf(await post(target, '/v1/completions', body), 504);
  expect(error).toMatchObject({ type: 'timeout_error', code: 'request_timeout' });
  expect(target.admission.waiting).toBe(0);
  abort.abort();
});

test('a stream that runs past its timeout ends with an error event', async () => {
  const target = await server({ script: babbles, engine: { heldAfter: 5 } });
  const body = { ...endless, stream: true, timeout: 1 };
  const events = await eventsOf(await post(target, '/v1/completions', body));
  expect(events.at(-1)).toBe('[DONE]');
  expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ error: { code: 'request_timeout' } });
  expect(events.length).toBeGreaterThan(3);
  expect(target.engine.running).toBe(0);
});

test('the server has a limit for those that name none', async () => {
  const target = await server({
    script: babbles,
    engine: { heldAfter: 1 },
    config: { requestTimeoutMs: 100 },
  });
  await errorOf(await post(target, '/v1/completions', endless), 504);
});

test('a full queue turns a request away before it is looked at', async () => {
  const target = await server({
    script: babbles,
    engine: { heldAfter: 1 },
    concurrency: 1,
    maxQueue: 0,
  });
  const abort = new AbortController();
  await post(target, '/v1/completions', { ...endless, stream: true }, abort);
  // Its prompt would be a 400, if anybody had looked.
  const response = await post(target, '/v1/completions', { prompt: '' });
  expect(response.headers.get('retry-after')).toMatch(/^\d+$/);
  await errorOf(response, 429);
  abort.abort();
});

/** In seconds: longer than a test may take. */
const OWN_TIMEOUT = 3600;

describe("of the server's limit and the request's own the smaller one holds", () => {
  const limited = {
    script: babbles,
    engine: { heldAfter: 1 },
    config: { requestTimeoutMs: 100 },
  };

  test.each([
    ['/v1/completions', { ...endless, timeout: OWN_TIMEOUT }],
    [
      '/v1/chat/completions',
      { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 200, timeout: OWN_TIMEOUT },
    ],
    ['/v1/responses', { input: 'Hi', max_output_tokens: 200, timeout: OWN_TIMEOUT }],
  ])('%s', async (path, body) => {
    const target = await server(limited);
    await errorOf(await post(target, path, body), 504);
    expect(target.engine.running).toBe(0);
  });

  test('for a response in the background', async () => {
    const target = await server(limited);
    const made = await post(target, '/v1/responses', {
      input: 'Hi',
      background: true,
      timeout: OWN_TIMEOUT,
    });
    const { id } = z.looseObject({ id: z.string() }).parse(await made.json());
    await vi.waitFor(() => {
      const kept = target.context.responses.of('').get(id);
      expect(kept?.response).toMatchObject({
        status: 'failed',
        error: { message: expect.stringMatching(/time/) },
      });
    });
    expect(target.engine.running).toBe(0);
  });

  test('over WebSocket', async () => {
    const socket = await connect(await server(limited), '/v1/completions');
    socket.send({ request_id: 'r', ...endless, timeout: OWN_TIMEOUT });
    const frames = await socket.answer('r');
    expect(frames.at(-2)).toMatchObject({ error: { code: 'request_timeout' } });
    socket.socket.close();
  });

  test('while its prompt is made', async () => {
    const run = (_job: unknown, { signal }: Caller) =>
      new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const target = await server({ ...limited, maxModelLen: 100_000, promptPool: { run } });
    const body = { prompt: 'x'.repeat(50_000), max_tokens: 1 };
    await errorOf(await post(target, '/v1/completions', body), 504);
  });
});
