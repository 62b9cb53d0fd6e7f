import { createConnection, type Socket } from 'node:net';
import { EventEmitter, once } from 'node:events';
import { expect, test, vi } from 'vitest';
import type { Generator } from '../../src/front/generation/generation.ts';
import { answerOf, chunksOf, errorOf, post } from './support/client.ts';
import { pours, stalled } from './support/pours.ts';
import { babbles, useServers } from './support/test-server.ts';

const server = useServers();

const endless = { prompt: 'Hi', stream: true, max_tokens: 200 };

async function sendRaw(url: string, path: string, body: object): Promise<Socket> {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  const json = JSON.stringify(body);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`,
  );
  return socket;
}

test('a client that goes away frees the row', async () => {
  const { url, engine } = await server({ script: babbles, engine: { heldAfter: 1 } });
  const abort = new AbortController();
  const response = await post({ url }, '/v1/completions', endless, { signal: abort.signal });
  await response.body?.getReader().read();
  expect(engine.running).toBe(1);
  abort.abort();
  await vi.waitFor(() => expect(engine).toMatchObject({ running: 0, aborted: 1 }));
});

test('a client that goes away before an answer in one piece frees the row', async () => {
  const { url, engine } = await server({ script: babbles, engine: { heldAfter: 1 } });
  const socket = await sendRaw(url, '/v1/completions', { ...endless, stream: false });
  await vi.waitFor(() => expect(engine.running).toBe(1));
  socket.destroy();
  await vi.waitFor(() => expect(engine).toMatchObject({ running: 0, aborted: 1 }));
});

test('a client that goes away while it waits leaves the queue and disturbs nobody', async () => {
  const target = await server({ script: babbles, engine: { heldAfter: 1 }, concurrency: 1 });
  const running = await post(target, '/v1/completions', { ...endless, max_tokens: 60 });
  const abort = new AbortController();
  // Its headers come although it waits.
  const waiting = await post(target, '/v1/completions', endless, { signal: abort.signal });
  expect(waiting.status).toBe(200);
  expect(target.admission.waiting).toBe(1);
  abort.abort();
  await vi.waitFor(() => expect(target.admission.waiting).toBe(0));
  target.engine.release();
  expect((await chunksOf(running)).at(-1)?.choices[0]?.finish_reason).toBe('length');
  expect(target.engine.requests).toHaveLength(1);
});

test.each([false, true])('a full queue is 429 with Retry-After, stream: %s', async (stream) => {
  const target = await server({
    script: babbles,
    engine: { heldAfter: 1 },
    concurrency: 1,
    maxQueue: 1,
  });
  const abort = new AbortController();
  const init = { signal: abort.signal };
  await post(target, '/v1/completions', endless, init);
  await post(target, '/v1/completions', endless, init);
  const refused = await post(target, '/v1/completions', { ...endless, stream });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  expect(await errorOf(refused, 429)).toMatchObject({ code: 'queue_full' });
  abort.abort();
  await vi.waitFor(() => expect(target.admission.running).toBe(0));
  target.engine.release();
  await answerOf(await post(target, '/v1/completions', { prompt: 'Hi' }));
});

test('a silent stream is pinged', async () => {
  const silence = new EventEmitter();
  const { url } = await server({
    config: { ssePingMs: 5 },
    generator: {
      async *generate() {
        await once(silence, 'end');
        yield { text: 'x', tokenIds: [1], finishReason: 'length', stopReason: null };
      },
    },
  });
  const response = await post({ url }, '/v1/completions', endless);
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes(': ping\n\n: ping\n\n')) text += (await reader?.read())?.value ?? '';
  expect(text).not.toContain('data:');
  silence.emit('end');
  while (!text.includes('[DONE]')) text += (await reader?.read())?.value ?? '';
  expect(text).toContain('"text":"x"');
});

test('a client that does not read holds back the pulling, not the server', async () => {
  const generator = pours(1000);
  const { url } = await server({ generator });
  const socket = await sendRaw(url, '/v1/completions', endless);
  socket.pause();
  expect(await stalled(() => generator.numPulled)).toBeLessThan(1000);
  let tail = '';
  socket.on('data', (data: Buffer) => {
    tail = (tail + data.toString('latin1')).slice(-100);
  });
  socket.resume();
  await vi.waitFor(() => expect(tail).toContain('data: [DONE]'), { timeout: 20_000 });
  expect(generator.numPulled).toBe(1000);
  socket.destroy();
});

test('a client that does not read and goes away frees the generation', async () => {
  const generator = pours(1000);
  let isFreed = false;
  const generate: Generator['generate'] = async function* watched(request, signal) {
    try {
      yield* generator.generate(request, signal);
    } finally {
      isFreed = true;
    }
  };
  const { url } = await server({ generator: { generate } });
  const socket = await sendRaw(url, '/v1/completions', endless);
  socket.pause();
  await stalled(() => generator.numPulled);
  expect(isFreed).toBe(false);
  socket.destroy();
  await vi.waitFor(() => expect(isFreed).toBe(true));
  expect(generator.numPulled).toBeLessThan(1000);
});

test('an event stream has headers that no proxy holds back or caches', async () => {
  const target = await server();
  const headers = { 'x-request-id': 'mine-1' };
  const response = await post(target, '/v1/completions', { ...endless }, { headers });
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    'x-request-id': 'mine-1',
  });
});
