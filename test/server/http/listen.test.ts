import { createConnection } from 'node:net';
import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { createApp } from '../../../src/server/app.ts';
import { listen } from '../../../src/server/http/listen.ts';
import { WebSocketHub } from '../../../src/server/web-socket-hub.ts';
import { chunksOf, errorOf, post, textOf } from '../support/client.ts';
import { babbles, useServers } from '../support/test-server.ts';
import { connect, refusal } from '../support/web-socket.ts';
import { UserError } from '../../../src/user-error.ts';

const server = useServers();

const held = { script: babbles, engine: { heldAfter: 1 } };
const body = { prompt: 'Hi', stream: true, max_tokens: 30 };

test('a taken port is a one-line error that names it', async () => {
  const { url, context } = await server();
  const webSockets = new WebSocketHub(context);
  const port = Number(new URL(url).port);
  const error: unknown = await listen(createApp(context), {
    host: '127.0.0.1',
    port,
    webSockets,
  }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(UserError);
  expect(error).toMatchObject({ message: expect.stringMatching(`^port ${port} .*taken[^\n]*$`) });
});

test('before a drain, requests are answered and their connections closed', async () => {
  const target = await server();
  expect((await fetch(`${target.url}/health`)).headers.get('connection')).toBe('keep-alive');
  target.startLeaving();
  const answered = await post(target, '/v1/completions', { prompt: 'Hi', max_tokens: 3 });
  expect(answered.status).toBe(200);
  expect(answered.headers.get('connection')).toBe('close');
});

test('while draining, new requests get 503 with Retry-After and running ones finish', async () => {
  const target = await server(held);
  const running = await post(target, '/v1/completions', body);
  target.startDraining();
  const refused = await post(target, '/v1/completions', body);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(refused.headers.get('connection')).toBe('close');
  await errorOf(refused, 503);
  target.engine.release();
  expect(textOf(await chunksOf(running))).toBe('x'.repeat(30));
});

test('a drain closes connections and sockets on which nothing is at work', async () => {
  const target = await server(held);
  const running = await post(target, '/v1/completions', body);
  const { hostname, port } = new URL(target.url);
  const idle = createConnection(Number(port), hostname);
  idle.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(idle, 'data');
  const socket = new WebSocket(`${target.url.replace('http', 'ws')}/v1/completions`);
  await once(socket, 'open');
  const ends = Promise.all([once(idle, 'close'), once(socket, 'close')]);
  target.drain();
  const [, [code]] = await ends;
  expect(code).toBe(1001);
  expect((await fetch(`${target.url}/health`)).status).toBe(200);
  target.engine.release();
  expect(textOf(await chunksOf(running))).toBe('x'.repeat(30));
});

test('a drain answers the next request of a connection in use, and closes it then', async () => {
  const target = await server(held);
  const running = await post(target, '/v1/completions', body);
  const { hostname, port } = new URL(target.url);
  const busy = createConnection(Number(port), hostname);
  const health = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n';
  busy.write(health);
  expect(String(await once(busy, 'data'))).toContain('200 OK');
  target.startDraining();
  target.drain();
  let answer = '';
  busy.on('data', (chunk) => (answer += String(chunk)));
  const closed = once(busy, 'close');
  busy.write(health);
  await closed;
  expect(answer).toContain('200 OK');
  expect(answer.toLowerCase()).toContain('connection: close');
  target.engine.release();
  expect(textOf(await chunksOf(running))).toBe('x'.repeat(30));
});

test('close lets running requests finish, and keeps no idle connection', async () => {
  const target = await server(held);
  await (await fetch(`${target.url}/health`)).text();
  const running = await post(target, '/v1/completions', body);
  const closed = target.close(60_000);
  await expect(fetch(`${target.url}/health`)).rejects.toThrow('fetch failed');
  target.engine.release();
  expect(textOf(await chunksOf(running))).toBe('x'.repeat(30));
  await closed;
});

test('close ends a connection that was opened ahead of need', async () => {
  const target = await server();
  const socket = createConnection(Number(new URL(target.url).port), '127.0.0.1');
  await once(socket, 'connect');
  // Answered on another connection: by then the server has accepted the first.
  await (await fetch(`${target.url}/health`)).text();
  await expect(target.close(60_000)).resolves.toBeUndefined();
});

test('close ends a connection that its client would keep, once its request is done', async () => {
  const target = await server(held);
  const json = JSON.stringify(body);
  const socket = createConnection(Number(new URL(target.url).port), '127.0.0.1');
  socket.write(
    `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`,
  );
  await once(socket, 'data');
  let text = '';
  socket.on('data', (data: Buffer) => (text += data.toString('latin1')));
  const closed = target.close(60_000);
  target.engine.release();
  await Promise.all([closed, once(socket, 'end')]);
  expect(text).toContain('[DONE]');
});

test('close cuts what is left after the grace period', async () => {
  const target = await server({ ...held, maxModelLen: 1_000_000 });
  const running = await post(target, '/v1/completions', { ...body, max_tokens: 900_000 });
  const socket = await connect(target, '/v1/completions');
  socket.send({ ...body, max_tokens: 900_000, request_id: 'a' });
  await socket.until((frame) => frame.request_id === 'a');
  const text = running.text();
  await Promise.all([target.close(50), expect(text).rejects.toThrow('terminated')]);
  expect(await socket.closed).toBe(1006);
  await vi.waitFor(() => expect(target.engine).toMatchObject({ running: 0, aborted: 2 }));
});

test('close ends idle WebSockets at once and busy ones when done, with 1001', async () => {
  const target = await server(held);
  const idle = await connect(target, '/v1/completions');
  const busy = await connect(target, '/v1/completions');
  busy.send({ ...body, request_id: 'a' });
  await busy.until((frame) => frame.request_id === 'a');
  target.startDraining();
  await errorOf(await refusal(target, '/v1/completions'), 503);
  const closed = target.close(60_000);
  expect(await idle.closed).toBe(1001);
  busy.send({ ...body, request_id: 'late' });
  expect((await busy.answer('late'))[0]).toMatchObject({ error: { type: 'service_unavailable' } });
  target.engine.release();
  expect((await busy.answer('a')).at(-2)).toMatchObject({ choices: [{ finish_reason: 'length' }] });
  expect(await busy.closed).toBe(1001);
  await closed;
});
