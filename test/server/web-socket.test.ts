import { once } from 'node:events';
import { expect, onTestFinished, test, vi } from 'vitest';
import { answer, chunksOf, errorOf, post, textOf, type Answer } from './support/client.ts';
import { pours, stalled } from './support/pours.ts';
import { babbles, useServers } from './support/test-server.ts';
import { connect, refusal } from './support/web-socket.ts';

const server = useServers();

const CHAT = '/v1/chat/completions';
const chat = { messages: [{ role: 'user', content: 'Hi' }], stream: true };
const endless = { prompt: 'Hi', stream: true, max_tokens: 200 };
/** A chunk without what differs from request to request and by transport. */
function withoutIdentity(chunk: Answer): object {
  const { id: _id, created: _created, request_id: _requestId, ...rest } = chunk;
  return rest;
}

function reversed(text: string): string {
  return Array.from(text).toReversed().join('');
}

const held = { script: babbles, engine: { heldAfter: 1 } };

test('a streamed answer has the chunks of SSE, the request id, and a last frame', async () => {
  const target = await server();
  const socket = await connect(target, CHAT);
  const body = { ...chat, stream_options: { include_usage: true } };
  socket.send({ ...body, request_id: 'a' });
  const frames = await socket.answer('a');
  expect(frames.at(-1)).toEqual({ request_id: 'a', type: 'done' });
  const chunks = frames.slice(0, -1).map((frame) => withoutIdentity(answer.parse(frame)));
  const overSse = await chunksOf(await post(target, CHAT, body));
  expect(chunks).toEqual(overSse.map(withoutIdentity));
});

test('without stream the answer is one frame', async () => {
  const socket = await connect(await server(), '/v1/completions');
  socket.send({ prompt: 'Hi', request_id: 'a' });
  const frames = await socket.answer('a');
  expect(frames).toHaveLength(2);
  expect(answer.parse(frames[0])).toMatchObject({ choices: [{ text: 'Hello there!' }] });
});

test('many requests share a socket, each with its own answer', async () => {
  const target = await server({ script: (prompt) => prompt.toReversed() });
  const socket = await connect(target, '/v1/completions');
  const prompts = ['abc', 'defg', 'hi', 'jklmno'];
  for (const prompt of prompts) socket.send({ prompt, stream: true, request_id: prompt });
  for (const prompt of prompts) {
    const chunks = (await socket.answer(prompt)).slice(0, -1).map((frame) => answer.parse(frame));
    expect(textOf(chunks)).toBe(reversed(prompt));
  }
  const order = socket.frames.map((frame) => frame.request_id);
  const numSwitches = order.filter((id, index) => id !== order[index + 1]).length;
  expect(numSwitches).toBeGreaterThan(prompts.length);
});

test('cancel stops one request and frees its row', async () => {
  const { url, engine } = await server(held);
  const socket = await connect({ url }, '/v1/completions');
  socket.send({ ...endless, request_id: 'a' });
  socket.send({ ...endless, max_tokens: 20, request_id: 'b' });
  await socket.until((frame) => frame.request_id === 'a');
  socket.send({ request_id: 'a', type: 'cancel' });
  const frames = await socket.answer('a');
  expect(frames.some((frame) => frame.error !== undefined)).toBe(false);
  engine.release();
  const other = (await socket.answer('b')).slice(0, -1).map((frame) => answer.parse(frame));
  expect(textOf(other)).toBe('x'.repeat(20));
  expect(engine).toMatchObject({ running: 0, aborted: 1, finished: 1 });
});

test('cancelling what is not at work is no fault', async () => {
  const socket = await connect(await server(), '/v1/completions');
  socket.send({ request_id: 'never', type: 'cancel' });
  socket.send({ prompt: 'Hi', request_id: 'a' });
  await socket.answer('a');
  expect(socket.frames.every((frame) => frame.request_id === 'a')).toBe(true);
});

test.each([
  ['{"request_id": "a", ', 'invalid_json'],
  ['[]', 'invalid_json'],
  ['{"prompt": "Hi"}', 'missing_required_parameter'],
  ['{"prompt": "Hi", "request_id": 5}', 'invalid_value'],
  ['{"prompt": "Hi", "request_id": ""}', 'invalid_value'],
  ['{"request_id": "a", "type": "dance"}', 'invalid_value'],
])('the frame %s gets an error frame, and the socket stays', async (text, code) => {
  const socket = await connect(await server(), '/v1/completions');
  socket.send(text);
  socket.send({ prompt: 'Hi', request_id: 'ok' });
  await socket.answer('ok');
  const [first] = socket.frames;
  expect(first).toMatchObject({ request_id: null, error: { type: 'invalid_request_error', code } });
});

test('a binary frame gets an error frame, and the socket stays', async () => {
  const socket = await connect(await server(), '/v1/completions');
  socket.socket.send(Buffer.from(JSON.stringify({ prompt: 'Hi', request_id: 'a' })));
  socket.send({ prompt: 'Hi', request_id: 'ok' });
  await socket.answer('ok');
  expect(socket.frames[0]?.error?.message).toContain('binary');
  expect(socket.frames[0]?.request_id).toBeNull();
});

test('an id at work is refused, and goes on; later it is free', async () => {
  const { url, engine } = await server(held);
  const socket = await connect({ url }, '/v1/completions');
  socket.send({ ...endless, max_tokens: 20, request_id: 'a' });
  await socket.until((frame) => frame.request_id === 'a');
  socket.send({ ...endless, max_tokens: 3, request_id: 'a' });
  await socket.until((frame) => frame.error !== undefined);
  engine.release();
  const frames = await socket.answer('a');
  const errors = frames.filter((frame) => frame.error !== undefined);
  expect(errors).toMatchObject([{ error: { code: 'request_id_in_use' } }]);
  const chunks = frames.filter((frame) => frame.error === undefined).slice(0, -1);
  expect(textOf(chunks.map((frame) => answer.parse(frame)))).toBe('x'.repeat(20));
  socket.frames.length = 0;
  socket.send({ ...endless, max_tokens: 3, request_id: 'a' });
  await socket.answer('a');
  expect(engine.finished).toBe(2);
});

test('a bad body is an error frame with the id, then the last frame', async () => {
  const socket = await connect(await server(), CHAT);
  socket.send({ ...chat, temperature: 9, request_id: 'a' });
  expect(await socket.answer('a')).toMatchObject([
    { request_id: 'a', error: { param: 'temperature' } },
    { request_id: 'a', type: 'done' },
  ]);
});

test('a full queue is an error frame', async () => {
  const target = await server({ ...held, concurrency: 1, maxQueue: 0 });
  const socket = await connect(target, '/v1/completions');
  socket.send({ ...endless, request_id: 'a' });
  await socket.until((frame) => frame.request_id === 'a');
  socket.send({ ...endless, request_id: 'b' });
  expect((await socket.answer('b'))[0]).toMatchObject({ error: { code: 'queue_full' } });
});

test('a failure in mid-stream is an error frame, then the last frame', async () => {
  const target = await server({
    *script() {
      yield 5;
      throw new Error('secret of the engine');
    },
  });
  const socket = await connect(target, '/v1/completions');
  socket.send({ ...endless, request_id: 'a' });
  const frames = await socket.answer('a');
  expect(frames.at(-2)?.error).toMatchObject({ type: 'server_error' });
  expect(JSON.stringify(frames)).not.toContain('secret');
});

test('closing the socket frees all its rows', async () => {
  const { url, engine } = await server(held);
  const socket = await connect({ url }, '/v1/completions');
  for (const requestId of ['a', 'b', 'c']) socket.send({ ...endless, request_id: requestId });
  await vi.waitFor(() => expect(engine.running).toBe(3));
  socket.socket.close();
  await vi.waitFor(() => expect(engine).toMatchObject({ running: 0, aborted: 3 }));
});

test('a client that does not read holds back the pulling', async () => {
  const generator = pours(1000);
  const socket = await connect(await server({ generator }), '/v1/completions');
  socket.socket.pause();
  socket.send({ ...endless, request_id: 'a' });
  expect(await stalled(() => generator.numPulled)).toBeLessThan(1000);
  socket.socket.resume();
  await socket.answer('a');
  expect(generator.numPulled).toBe(1000);
});

test('a socket that answers no ping is cut', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { url } = await server({ config: { webSocketPingMs: 20 } });
  const answering = await connect({ url }, CHAT);
  const dead = await connect({ url }, CHAT);
  dead.socket.pong = () => {};
  const pinged = Promise.all([answering, dead].map(({ socket }) => once(socket, 'ping')));
  vi.advanceTimersByTime(20);
  await pinged;
  // Sent so that its answer comes after the pong.
  answering.send('');
  await answering.until(({ error }) => error !== undefined);
  vi.advanceTimersByTime(20);
  expect(await dead.closed).toBe(1006);
  expect(answering.socket.readyState).toBe(answering.socket.OPEN);
});

test('a frame over the limit closes the socket with 1009', async () => {
  const socket = await connect(await server({ config: { maxBodyBytes: 1000 } }), CHAT);
  socket.send({ request_id: 'a', prompt: 'x'.repeat(2000) });
  expect(await socket.closed).toBe(1009);
});

test('the upgrade needs a key', async () => {
  const target = await server({ config: { apiKeys: ['key'] } });
  expect(await errorOf(await refusal(target, CHAT), 401)).toMatchObject({
    type: 'authentication_error',
  });
  await errorOf(await refusal(target, CHAT, { authorization: 'Bearer wrong' }), 401);
  const socket = await connect(target, CHAT, { 'x-api-key': 'key' });
  socket.send({ ...chat, request_id: 'a' });
  await socket.answer('a');
});

test('an upgrade elsewhere is 404', async () => {
  const error = await errorOf(await refusal(await server(), '/v1/models'), 404);
  expect(error.message).toContain('/v1/models');
});
