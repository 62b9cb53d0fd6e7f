/** Clients that send more over a WebSocket than anybody could want. */
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { LIMITS } from '../../src/limits.ts';
import { acceptedSockets } from './support/accepted.ts';
import { stalled } from './support/pours.ts';
import { babbles, useServers, type TestServer } from './support/test-server.ts';
import { connect } from './support/web-socket.ts';

const server = useServers();

const PATH = '/v1/completions';
const held = { script: babbles, engine: { heldAfter: 1 } };
const endless = { prompt: 'Hi', stream: true, max_tokens: 200 };

/** A WebSocket whose frames are written by hand, many with one call. */
async function rawSocket({ url }: { readonly url: string }, path: string): Promise<Socket> {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  );
  await once(socket, 'data');
  return socket;
}

/** A masked frame of at most 125 bytes. @param head opcode, with 0x80 where it ends a message */
function frame(text: string, head = 0x81): Buffer {
  return Buffer.concat([Buffer.from([head, 0x80 | text.length, 0, 0, 0, 0]), Buffer.from(text)]);
}

function times(count: number, buffer: Buffer): Buffer {
  return Buffer.alloc(count * buffer.length, buffer);
}

/** How often the event loop turns until `done`. */
async function turnsUntil(done: Promise<unknown>): Promise<number> {
  let numTurns = 0;
  let isDone = false;
  const count = (): void => {
    numTurns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await done;
  isDone = true;
  return numTurns;
}

async function expectAtRest({ engine, admission }: TestServer): Promise<void> {
  await vi.waitFor(() => expect(engine.running).toBe(0));
  expect(admission.waiting).toBe(0);
}

// At once: each waits for a client that does not answer the close.
test.concurrent.each([
  [PATH, '{"request_id":"a","prompt":"Hi","max_tokens":900000}'],
  ['/v1/responses', '{"type":"response.create","input":"Hi"}'],
])('%s: 100,000 bad frames close the socket and end its requests', async (path, request) => {
  const target = await server({ ...held, maxModelLen: 1_000_000 });
  const socket = await rawSocket(target, path);
  let text = '';
  socket.on('data', (data: Buffer) => (text += data.toString('latin1')));
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  socket.write(frame(request));
  await vi.waitFor(() => expect(target.engine.running).toBe(1));
  socket.write(times(100_000, frame('{}')));
  await vi.waitFor(() => expect(text).toContain(`${LIMITS.badFrames} bad frames in a row`));
  expect(text.match(/"error":\{/g)).toHaveLength(LIMITS.badFrames);
  await closed;
  await expectAtRest(target);
});

test('a good frame between them keeps the socket', async () => {
  const socket = await connect(await server(), PATH);
  for (let index = 0; index < 3 * LIMITS.badFrames; index++) {
    socket.send('{}');
    if (index % 5 === 4) socket.send({ request_id: 'never', type: 'cancel' });
  }
  socket.send({ prompt: 'Hi', request_id: 'ok' });
  await socket.answer('ok');
  expect(socket.frames.filter(({ request_id: id }) => id === null)).toHaveLength(30);
});

test('frames of one chunk are handled in many turns of the loop', async () => {
  const socket = await rawSocket(await server(), PATH);
  const numFrames = 5000;
  const cancel = frame('{"request_id":"a","type":"cancel"}');
  socket.write(Buffer.concat([times(numFrames, cancel), frame('{}')]));
  expect(await turnsUntil(once(socket, 'data'))).toBeGreaterThan(numFrames / 2);
  socket.destroy();
});

test('a socket has its limit of requests at work; further ones get errors', async () => {
  const target = await server({ ...held, concurrency: 128, maxQueue: 128 });
  const socket = await connect(target, PATH);
  const numRequests = LIMITS.requestsPerSocket + 10;
  for (let index = 0; index < numRequests; index++) {
    socket.send({ ...endless, request_id: `${index}` });
  }
  const refused = await socket.answer(`${numRequests - 1}`);
  expect(refused).toMatchObject([
    { error: { type: 'rate_limit_error', code: 'too_many_requests_on_socket' } },
    { type: 'done' },
  ]);
  // Those that were taken begin a few in each turn of the event loop.
  await vi.waitFor(() => expect(target.engine.requests).toHaveLength(LIMITS.requestsPerSocket));
  socket.send({ request_id: '0', type: 'cancel' });
  await socket.answer('0');
  socket.send({ ...endless, max_tokens: 1, request_id: 'again' });
  const [first] = await socket.answer('again');
  expect(first?.error).toBeUndefined();
  socket.socket.close();
  await expectAtRest(target);
});

test('a message in too many pieces closes the socket', async () => {
  const socket = await rawSocket(await server(), PATH);
  socket.write(Buffer.concat([frame('{', 0x01), times(10_000, frame(' ', 0x00))]));
  const [data] = await once(socket, 'data');
  // A close frame with 1008.
  expect(data.subarray(0, 4)).toEqual(Buffer.from([0x88, 0x02, 0x03, 0xf0]));
  socket.destroy();
});

test('a client that reads no answers is not read either', async () => {
  const target = await server({ ...held, maxModelLen: 1_000_000 });
  const sockets = acceptedSockets();
  const socket = await rawSocket(target, PATH);
  const [accepted] = sockets();
  const id = 'a'.repeat(40);
  socket.write(frame(JSON.stringify({ prompt: 'Hi', request_id: id, max_tokens: 999_000 })));
  await vi.waitFor(() => expect(target.engine.running).toBe(1));
  socket.pause();
  // Each is answered with an error, for the id is at work.
  const duplicates = times(200_000, frame(JSON.stringify({ prompt: 'x', request_id: id })));
  socket.write(duplicates);
  await stalled(() => accepted?.bytesRead ?? NaN);
  expect(accepted?.bytesRead).toBeLessThan(duplicates.length);
  expect(accepted?.writableLength).toBeLessThan(2 * LIMITS.socketBufferBytes);
  socket.destroy();
  await expectAtRest(target);
});

test('events that wait on /v1/responses are bounded in bytes', async () => {
  const target = await server({
    ...held,
    maxModelLen: 10_000,
    config: { maxBodyBytes: 1000 },
  });
  const socket = new WebSocket(`${target.url.replace('http', 'ws')}/v1/responses`);
  await once(socket, 'open');
  const events: string[] = [];
  socket.on('message', (data: Buffer) => events.push(data.toString('utf8')));
  const create = JSON.stringify({ type: 'response.create', input: 'x'.repeat(350) });
  for (let index = 0; index < 4; index++) socket.send(create);
  await vi.waitFor(() => expect(events.join('')).toContain('"too_many_pending_events"'));
  // One at work, and two that wait.
  expect(events.join('').match(/too_many_pending_events/g)).toHaveLength(1);
  socket.close();
  await expectAtRest(target);
});
