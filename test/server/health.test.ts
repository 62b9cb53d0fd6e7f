import { expect, test } from 'vitest';
import type { EngineState } from '../../src/front/engine.ts';
import { errorOf, post } from './support/client.ts';
import { useServers } from './support/test-server.ts';

const server = useServers();

const STATES: [EngineState, Record<string, number>][] = [
  ['starting', { '/livez': 200, '/health': 503, '/ready': 503, '/readyz': 503 }],
  ['ready', { '/livez': 200, '/health': 200, '/ready': 200, '/readyz': 200 }],
  ['recovering', { '/livez': 200, '/health': 200, '/ready': 503, '/readyz': 503 }],
  ['failed', { '/livez': 503, '/health': 503, '/ready': 503, '/readyz': 503 }],
  ['stopped', { '/livez': 503, '/health': 503, '/ready': 503, '/readyz': 503 }],
];

test.each(STATES)('probes while the engine is %s', async (state, expected) => {
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

test('/version', async () => {
  const { url } = await server();
  expect(await (await fetch(`${url}/version`)).json()).toEqual({ version: '1.2.3' });
});
