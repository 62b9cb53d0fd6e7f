import { resolve } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { metric, stream } from '../support/http-client.ts';
import { until } from '../support/processes.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';

const THROWS = { NODE_OPTIONS: `--import=${resolve('test/support/throw-on-signal.mjs')}` };
/** Ways to throw, for each signal. */
const WAYS = 5;

let server: ServerProcess | undefined;
afterEach(async () => {
  await server?.stop('SIGKILL');
});

const body = { prompt: 'Once upon a time', max_tokens: 200, ignore_eos: true, seed: 1 };
const counted = (url: string) => metric(url, 'chairlift_uncaught_errors_total');

test('errors that nothing catches end no stream, and are counted and logged', async () => {
  server = await startServer([], THROWS);
  const { url, child } = server;
  const undisturbed = await stream(`${url}/v1/completions`, body);
  const running = stream(`${url}/v1/completions`, body);
  for (let round = 1; round <= 3; round++) {
    child.kill('SIGWINCH');
    await until(async () => (await counted(url)) === round * WAYS, 'the errors');
  }
  expect((await running).text).toBe(undisturbed.text);
  expect(server.output()).toContain('nothing caught');
  expect(await server.stop()).toBe(0);
});

test('errors without end do not stop the server, nor fill its log', async () => {
  server = await startServer([], THROWS);
  const { url, child } = server;
  const undisturbed = await stream(`${url}/v1/completions`, body);
  const signals = setInterval(() => child.kill('SIGWINCH'), 20);
  const startedAt = performance.now();
  await until(async () => (await counted(url)) > 40 * WAYS, 'the errors');
  await until(() => server?.output().includes('notLogged') === true, 'the next log');
  expect((await stream(`${url}/v1/completions`, body)).text).toBe(undisturbed.text);
  clearInterval(signals);
  const seconds = (performance.now() - startedAt) / 1000;
  expect(server.output().split('nothing caught').length - 1).toBeLessThanOrEqual(2 + seconds);
  expect(await server.stop()).toBe(0);
});
