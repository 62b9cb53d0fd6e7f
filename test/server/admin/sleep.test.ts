/** /sleep, /wake_up, /is_sleeping and /load. */
import { expect, test } from 'vitest';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { errorOf, post } from '../support/client.ts';
import { babbles, MODEL, type TestServer, useServers } from '../support/test-server.ts';

const server = useServers();
const prompt = { prompt: 'Hi', max_tokens: 2 };

async function got({ url }: TestServer, path: string): Promise<unknown> {
  return (await fetch(url + path)).json();
}

test.each(['none', 'auto'] as const)('a server sleeps and wakes up, with %s', async (control) => {
  const target = await server({ control });
  expect((await post(target, '/v1/completions', prompt)).status).toBe(200);
  expect(await got(target, '/is_sleeping')).toEqual({ is_sleeping: false });
  // As vLLM's clients ask for it: without a body.
  const slept = await fetch(`${target.url}/sleep?level=2`, { method: 'POST' });
  expect(await slept.json()).toEqual({ is_sleeping: true });
  expect(await got(target, '/models')).toMatchObject({
    data: [{ id: MODEL, status: { value: 'unloaded' } }],
  });
  const refused = await post(target, '/v1/completions', prompt);
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(await errorOf(refused, 503)).toMatchObject({ code: 'server_sleeping' });
  expect((await fetch(`${target.url}/ready`)).status).toBe(503);
  expect((await fetch(`${target.url}/health`)).status).toBe(200);
  expect(await got(target, '/is_sleeping')).toEqual({ is_sleeping: true });
  const woken = await fetch(`${target.url}/wake_up?tags=weights`, { method: 'POST' });
  expect(await woken.json()).toEqual({ is_sleeping: false });
  expect((await fetch(`${target.url}/ready`)).status).toBe(200);
  expect((await post(target, '/v1/completions', prompt)).status).toBe(200);
});

test('a stream that runs ends first, and counts as load until then', async () => {
  const target = await server({ script: babbles, engine: { heldAfter: 1 } });
  expect(await got(target, '/load')).toEqual({ server_load: 0 });
  const stream = await post(target, '/v1/completions', {
    prompt: 'Hi',
    max_tokens: 20,
    stream: true,
  });
  expect(await got(target, '/load')).toEqual({ server_load: 1 });
  const sleeping = fetch(`${target.url}/sleep`, { method: 'POST' });
  while ((await fetch(`${target.url}/ready`)).status !== 503);
  target.engine.release();
  expect(await stream.text()).toContain('[DONE]');
  expect(await (await sleeping).json()).toEqual({ is_sleeping: true });
});

test.each(['level=0', 'level=3', 'level=x', 'mode=abort'])(
  '/sleep?%s is refused',
  async (query) => {
    const target = await server();
    const refused = await fetch(`${target.url}/sleep?${query}`, { method: 'POST' });
    expect((await errorOf(refused, 400)).param).toBe(query.split('=')[0]);
    expect(await got(target, '/is_sleeping')).toEqual({ is_sleeping: false });
  },
);

test('only the operator may', async () => {
  const target = await server({ keys: new ApiKeys(unnamedKeys(['key']), digestOf('admin')) });
  const call = (method: string, path: string, key: string) =>
    fetch(target.url + path, { method, headers: { authorization: `Bearer ${key}` } });
  for (const [method, path] of [
    ['POST', '/sleep'],
    ['POST', '/wake_up'],
    ['GET', '/is_sleeping'],
  ] as const) {
    await errorOf(await call(method, path, 'key'), 403);
    expect((await call(method, path, 'admin')).status).toBe(200);
  }
  expect((await call('GET', '/load', 'key')).status).toBe(200);
});
