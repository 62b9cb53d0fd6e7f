import { once } from 'node:events';
import { createConnection } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { BodyBudget } from '../../../src/server/http/body-budget.ts';
import { ConnectionPlaces } from '../../../src/server/http/connection-places.ts';
import { acceptedSockets } from '../support/accepted.ts';
import { RawClient } from '../support/raw-client.ts';
import { babbles, type TestServer, useServers } from '../support/test-server.ts';

const server = useServers();

const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const HUGE = `Content-Length: ${2 ** 40}\r\n`;
const KEY = 'Authorization: Bearer key\r\n';
const PAGE = 'Content-Type: text/plain\r\nOrigin: http://localhost\r\n';
const refused = { config: { apiKeys: ['key'] } };

/** As much as is read at once. */
const PIECE = 'x'.repeat(2 ** 16);
const CHUNK = `${PIECE.length.toString(16)}\r\n${PIECE}\r\n`;

/** Each way to be refused: the request's line, its own fields, and the status. */
const REFUSALS: readonly (readonly [line: string, fields: string, status: number])[] = [
  ['GET /livez', CHUNKED, 200],
  ['POST /v1/completions', CHUNKED, 401],
  ['DELETE /v1/files/a', HUGE, 401],
  ['POST /nowhere', KEY + CHUNKED, 404],
  ['PUT /v1/completions', KEY + CHUNKED, 405],
  ['POST /v1/completions', KEY + HUGE, 413],
  [`GET /${'a'.repeat(3000)}`, CHUNKED, 414],
  ['POST /v1/completions', KEY + PAGE + CHUNKED, 415],
];

/** Goes on sending when the server has ended its half, as a client that does not look would. */
function headstrongClient({ url }: { readonly url: string }) {
  const options = { port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true };
  const socket = createConnection(options).on('error', () => {});
  socket.setNoDelay();
  let text = '';
  socket.on('data', (data: Buffer) => (text += data.toString('latin1')));
  const answer = once(socket, 'end').then(() => text);
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
  });
  return { socket, answer, closed };
}

/** Begins a request, is refused, and goes on with its body until it is cut off. */
async function sendBeyond(
  target: TestServer,
  line: string,
  fields: string,
  status: number,
): Promise<void> {
  const piece = fields.includes('chunked') ? CHUNK : PIECE;
  const { socket, answer, closed } = headstrongClient(target);
  socket.write(`${line} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n${piece}`);
  const refusal = await answer;
  expect.soft(refusal).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*connection: close`, 'i'));
  for (let index = 0; index < 128; index++) socket.write(piece);
  await closed;
}

test('no more of a body is read after a refusal', async () => {
  const accepted = acceptedSockets();
  const target = await server(refused);
  await Promise.all(REFUSALS.map((refusal) => sendBeyond(target, ...refusal)));
  const numRead = accepted().map(({ bytesRead }) => bytesRead);
  expect(numRead).toHaveLength(REFUSALS.length);
  expect(Math.max(...numRead)).toBeLessThan(2 * LIMITS.unreadBytes);
});

/** Asks what the server answers at once, or goes on with. */
async function ask(target: TestServer, isAnswered: boolean): Promise<void> {
  const client = new RawClient(target);
  client.post({ prompt: 'Hi', max_tokens: 200 });
  await vi.waitFor(() => expect(client.statuses.length + target.engine.running).toBe(1));
  if (isAnswered) client.socket.destroy();
}

const held = { script: babbles, engine: { heldAfter: 1 } };

/** Servers that have no room for one more request, and what they answer. */
const FULL: Readonly<Record<string, () => Promise<readonly [TestServer, status: number]>>> = {
  async 'by its rate'() {
    const target = await server({ rates: { requests: 1 } });
    await ask(target, true);
    return [target, 429];
  },
  async 'in the queue'() {
    const target = await server({ ...held, concurrency: 1, maxQueue: 0 });
    await ask(target, false);
    return [target, 429];
  },
  async "in a client's share of bodies"() {
    return [await server({ bodyBudget: new BodyBudget(2 ** 20, 1) }), 429];
  },
  async 'for bodies'() {
    return [await server({ bodyBudget: new BodyBudget(1) }), 503];
  },
  async 'for connections'() {
    const places = new ConnectionPlaces({ maxConnections: 1, maxConnectionsPerAddress: null });
    const connections = { places, mayUseReserve: () => false };
    const target = await server({ ...held, connections });
    await ask(target, false);
    return [target, 503];
  },
  async 'for a request that comes while it shuts down'() {
    const target = await server();
    target.startDraining();
    return [target, 503];
  },
};

test('nor where there is no room for the request', async () => {
  const accepted = acceptedSockets();
  const tries = Object.values(FULL).map(async (full) => {
    const [target, status] = await full();
    await sendBeyond(target, 'POST /v1/completions', CHUNKED, status);
  });
  await Promise.all(tries);
  const numRead = accepted().map(({ bytesRead }) => bytesRead);
  expect(Math.max(...numRead)).toBeLessThan(2 * LIMITS.unreadBytes);
});

test('an answer is not broken off by a body that is not read', async () => {
  const { socket, answer } = headstrongClient(await server(refused));
  const head = `POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n${CHUNKED}\r\n`;
  socket.write(head + CHUNK.repeat(64));
  const errors: Error[] = [];
  socket.on('error', (error) => errors.push(error));
  expect(await answer).toMatch(/^HTTP\/1\.1 401 [^]*invalid_api_key[^]*\}$/);
  // Its client may go on for a while: an error could make it throw away what it has not read yet.
  for (let index = 0; index < 10; index++) {
    socket.write(CHUNK);
    await setTimeout(10);
  }
  expect(errors).toEqual([]);
  socket.destroy();
});

test('pieces of one byte are read in small numbers', async () => {
  const accepted = acceptedSockets();
  const { socket } = headstrongClient(await server(refused));
  const length = `Content-Length: ${LIMITS.unreadBytes}\r\n`;
  socket.write(`GET /livez HTTP/1.1\r\nHost: localhost\r\n${length}\r\n`);
  await once(socket, 'data');
  const numBefore = accepted()[0]?.bytesRead ?? 0;
  let numSent = 0;
  while (numSent < 4 * LIMITS.unreadPieces) {
    socket.write('x');
    numSent++;
    await setTimeout(1);
  }
  const numRead = (accepted()[0]?.bytesRead ?? 0) - numBefore;
  expect(numRead).toBeLessThan(2 * LIMITS.unreadPieces);
  socket.destroy();
});

test('a connection whose body stops is closed', async () => {
  const client = new RawClient(await server(refused));
  client.get('/livez', CHUNKED);
  await client.closed;
  expect(client.statuses).toEqual([200]);
});

test('a small body that comes after its refusal leaves the connection open', async () => {
  const client = new RawClient(await server(refused));
  client.get('/livez', 'Content-Length: 3\r\n');
  await vi.waitFor(() => expect(client.statuses).toEqual([200]));
  client.socket.write('abc');
  client.get('/livez');
  await vi.waitFor(() => expect(client.statuses).toEqual([200, 200]));
  client.socket.destroy();
});
