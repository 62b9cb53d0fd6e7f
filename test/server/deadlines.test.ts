import { expect, test } from 'vitest';
import { errorOf, eventsOf, post } from './support/client.ts';
import { babbles, useServers } from './support/test-server.ts';

const server = useServers();
const endless = { prompt: 'Hi', max_tokens: 200 };

test('a request that waits past its timeout gets 504', async () => {
  const target = await server({ script: babbles, engine: { delayMs: 20 }, concurrency: 1 });
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
  const target = await server({ script: babbles, engine: { delayMs: 20 } });
  const body = { ...endless, stream: true, timeout: 0.15 };
  const events = await eventsOf(await post(target, '/v1/completions', body));
  expect(events.at(-1)).toBe('[DONE]');
  expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ error: { code: 'request_timeout' } });
  expect(events.length).toBeGreaterThan(3);
  expect(target.engine.running).toBe(0);
});

test('the server has a limit for those that name none', async () => {
  const target = await server({
    script: babbles,
    engine: { delayMs: 20 },
    config: { requestTimeoutMs: 100 },
  });
  await errorOf(await post(target, '/v1/completions', endless), 504);
});

test('a full queue turns a request away before it is looked at', async () => {
  const target = await server({
    script: babbles,
    engine: { delayMs: 20 },
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
