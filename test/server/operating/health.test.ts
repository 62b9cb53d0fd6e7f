import { expect, test } from 'vitest';
import type { EngineState } from '../../../src/front/engine-process/engine-contract.ts';
import { errorOf, post } from '../support/client.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();

const STATES: [EngineState, Record<string, number>][] = [
  ['starting', { '/livez': 200, '/health': 503, '/ready': 503, '/readyz': 503 }],
  ['ready', { '/livez': 200, '/health': 200, '/ready': 200, '/readyz': 200 }],
  ['recovering', { '/livez': 200, '/health': 200, '/ready': 503, '/readyz': 503 }],
  ['failed', { '/livez': 503, '/health': 503, '/ready': 503, '/readyz': 503 }],
  ['stopped', { '/livez': 503, '/health': 503, '/ready': 503, '/readyz': 503 }],
];

test.each(STATES)('probes tell that the engine is %s', async (state, expected) => {
  const { url } = await server({ state });
  const found: Record<string, number> = {};
  for (const path of Object.keys(expected)) {
    const response = await fetch(`${url}${path}`);
    found[path] = response.status;
    expect(response.headers.has('retry-after')).toBe(response.status === 503);
  }
  expect(found).toEqual(expected);
});

test.each(['starting', 'failed', 'stopped'] as const)(
  'a request is 503 while the engine is %s',
  async (state) => {
    const error = await errorOf(
      await post(await server({ state }), '/v1/completions', { prompt: 'Hi', stream: true }),
      503,
    );
    expect(error.message).toContain(state);
  },
);

test('draining is alive and not ready', async () => {
  const target = await server();
  target.startDraining();
  expect((await fetch(`${target.url}/health`)).status).toBe(200);
  expect((await fetch(`${target.url}/ready`)).status).toBe(503);
});

test('a front that stood still for most of the last half minute is not alive, with a reason', async () => {
  const loop = { stalledMs: 2000 };
  const { url } = await server({ loop });
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  loop.stalledMs = 21_000;
  const { message } = await errorOf(await fetch(`${url}/livez`), 503);
  expect(message).toBe('The server was blocked for 21 s of the last 30 s.');
  expect((await fetch(`${url}/ready`)).status).toBe(200);
});

test('an engine that has work and says nothing is not ready, with a reason, and stays alive', async () => {
  const { url, engine } = await server();
  engine.silentMs = 8000;
  expect((await fetch(`${url}/ready`)).status).toBe(200);
  engine.silentMs = 20_000;
  for (const path of ['/ready', '/readyz']) {
    const { message } = await errorOf(await fetch(`${url}${path}`), 503);
    expect(message).toBe('The engine has work and made no progress for 20 s.');
  }
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  engine.silentMs = 0;
  expect((await fetch(`${url}/ready`)).status).toBe(200);
});

test('/version tells the version', async () => {
  const { url } = await server();
  expect(await (await fetch(`${url}/version`)).json()).toEqual({ version: '1.2.3' });
});
