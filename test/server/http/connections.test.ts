import { EventEmitter, once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createConnection, type Socket } from 'node:net';
import { expect, test, vi } from 'vitest';
import { Connections } from '../../../src/server/http/connections.ts';
import { ConnectionPlaces, type PlaceLimits } from '../../../src/server/http/connection-places.ts';
import { acceptedSockets } from '../support/accepted.ts';
import { post } from '../support/client.ts';
import { pours } from '../support/pours.ts';
import { RawClient } from '../support/raw-client.ts';
import { babbles, useServers, type TestServer } from '../support/test-server.ts';
import { connect } from '../support/web-socket.ts';

const server = useServers();

const held = { script: babbles, engine: { heldAfter: 1 } };
const endless = { prompt: 'Hi', stream: true, max_tokens: 200 };

/** Socket of a client that leaves so many bytes unread. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress = '::1';
  readonly writableLength: number;
  bytesWritten: number;
  destroyed = false;

  constructor(writableLength: number) {
    super();
    this.writableLength = writableLength;
    this.bytesWritten = writableLength;
  }

  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

async function expectAtRest({ engine, admission }: TestServer): Promise<void> {
  await vi.waitFor(() => expect(engine.running).toBe(0));
  expect(admission.waiting).toBe(0);
}

const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n';

function places(limits: Partial<PlaceLimits> = {}): ConnectionPlaces {
  return new ConnectionPlaces({ maxConnections: 9, maxConnectionsPerAddress: null, ...limits });
}

test('requests that offer HTTP/2 are answered, and add no listener to their connection', async () => {
  const target = await server();
  const accepted = acceptedSockets();
  const client = new RawClient(target);
  const counts: number[] = [];
  for (let index = 1; index <= 20; index++) {
    if (index % 2 === 0) client.get('/health', H2C);
    else client.post({ prompt: 'Hi' }, H2C);
    await vi.waitFor(() => expect(client.statuses).toHaveLength(index));
    expect(accepted()).toHaveLength(1);
    for (const socket of accepted()) {
      counts.push(socket.eventNames().reduce((sum, name) => sum + socket.listenerCount(name), 0));
    }
  }
  expect(client.statuses).toEqual(Array.from({ length: 20 }, () => 200));
  expect(new Set(counts.slice(1)).size).toBe(1);
  client.socket.destroy();
});

test('when all connections are taken, the longest idle one makes way', async () => {
  const target = await server({ connections: { places: places({ maxConnections: 3 }) } });
  const clients: RawClient[] = [];
  for (let index = 0; index < 3; index++) {
    const client = new RawClient(target);
    client.get('/health');
    await vi.waitFor(() => expect(client.statuses).toEqual([200]));
    clients.push(client);
  }
  clients[0]?.get('/health');
  await vi.waitFor(() => expect(clients[0]?.statuses).toEqual([200, 200]));
  const late = new RawClient(target);
  late.get('/health');
  await vi.waitFor(() => expect(late.statuses).toEqual([200]));
  await clients[1]?.closed;
  expect(clients.map(({ socket }) => socket.destroyed)).toEqual([false, true, false]);
  for (const { socket } of [...clients, late]) socket.destroy();
});

test('when all connections are at work, a new one gets 503 and disturbs nobody', async () => {
  const connections = { places: places({ maxConnections: 2 }), mayUseReserve: () => false };
  const target = await server({ ...held, connections });
  const busy = [new RawClient(target), new RawClient(target)];
  for (const client of busy) client.post({ ...endless, max_tokens: 60 });
  await vi.waitFor(() => expect(target.engine.running).toBe(2));
  for (let index = 0; index < 50; index++) {
    const refused = new RawClient(target);
    refused.get('/health');
    await refused.closed;
    expect(refused.text).toMatch(
      /^HTTP\/1\.1 503 [^]*retry-after[^]*"All 2 connections are in use\."/,
    );
  }
  target.engine.release();
  await vi.waitFor(() => expect(busy.every(({ text }) => text.includes('[DONE]'))).toBe(true));
  await expectAtRest(target);
  for (const { socket } of busy) socket.destroy();
});

test('when all connections are at work, a probe is answered, whoever floods the server', async () => {
  const mayUseReserve = ({ url }: IncomingMessage) => url === '/livez';
  const connections = { places: places({ maxConnections: 2 }), mayUseReserve };
  const target = await server({ ...held, connections });
  const busy = [new RawClient(target), new RawClient(target)];
  for (const client of busy) client.post({ ...endless, max_tokens: 60 });
  await vi.waitFor(() => expect(target.engine.running).toBe(2));
  const silent = Array.from({ length: 40 }, () => new RawClient(target));
  const probe = new RawClient(target);
  probe.get('/livez');
  probe.get('/livez');
  await probe.closed;
  expect(probe.text).toMatch(/^HTTP\/1\.1 200 [^]*connection: close/i);
  expect(probe.statuses).toEqual([200]);
  const other = new RawClient(target);
  other.post({ prompt: 'Hi' });
  await other.closed;
  expect(other.statuses).toEqual([503]);
  await Promise.all(silent.map(({ closed }) => closed));
  target.engine.release();
  await vi.waitFor(() => expect(busy.every(({ text }) => text.includes('[DONE]'))).toBe(true));
  for (const { socket } of busy) socket.destroy();
});

test('when all connections are taken, a request that is still arriving makes way', async () => {
  const accepted = acceptedSockets();
  const target = await server({ ...held, connections: { places: places({ maxConnections: 2 }) } });
  const busy = new RawClient(target);
  busy.post({ ...endless, max_tokens: 60 });
  await vi.waitFor(() => expect(target.engine.running).toBe(1));
  const half = new RawClient(target);
  half.socket.write(
    'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
  );
  await vi.waitFor(() => expect(accepted()[1]?.bytesRead).toBeGreaterThan(0));
  const late = new RawClient(target);
  late.get('/health');
  await vi.waitFor(() => expect(late.statuses).toEqual([200]));
  await half.closed;
  target.engine.release();
  await vi.waitFor(() => expect(busy.text).toContain('[DONE]'));
  await expectAtRest(target);
  for (const { socket } of [busy, late]) socket.destroy();
});

test('an address has its limit of connections', async () => {
  const target = await server({ connections: { places: places({ maxConnectionsPerAddress: 2 }) } });
  const [first, second] = [new RawClient(target), new RawClient(target)];
  await Promise.all([once(first.socket, 'connect'), once(second.socket, 'connect')]);
  const third = new RawClient(target);
  await third.closed;
  expect(third.text).toMatch(/^HTTP\/1\.1 429 [^]*too_many_connections/);
  first.socket.destroy();
  await vi.waitFor(async () => {
    const again = new RawClient(target);
    again.get('/health');
    await vi.waitFor(() => expect(again.statuses).toHaveLength(1));
    expect(again.statuses).toEqual([200]);
  });
  second.socket.destroy();
});

test('requests sent ahead are answered one after the other', async () => {
  const atWork: number[] = [];
  const target: TestServer = await server({
    script() {
      atWork.push(target.engine.running);
      return babbles();
    },
  });
  const client = new RawClient(target);
  for (let index = 0; index < 6; index++) client.post({ ...endless, max_tokens: 5 });
  await vi.waitFor(() => expect(client.text.match(/\[DONE\]/g)).toHaveLength(6));
  expect(atWork).toEqual([1, 1, 1, 1, 1, 1]);
  await expectAtRest(target);
  client.socket.destroy();
});

test('a connection that sends too many requests ahead is cut', async () => {
  const target = await server(held);
  const client = new RawClient(target);
  client.post(endless);
  for (let index = 0; index < 2000; index++) client.get('/health');
  await client.closed;
  expect(client.statuses.length).toBeLessThanOrEqual(1);
  await expectAtRest(target);
  expect(target.engine.requests.length).toBeLessThanOrEqual(1);
});

const hasty = { headMs: 100, receiveMs: 300 };

test.each([
  ['nothing', ''],
  ['half a head', 'GET /health HTTP/1.1\r\nHost:'],
  [
    'half a body',
    'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{',
  ],
])('a client that sends %s and waits gets 408', async (_, text) => {
  const target = await server({ connections: hasty });
  const client = new RawClient(target);
  client.socket.write(text);
  await client.closed;
  expect(client.text).toMatch(/^HTTP\/1\.1 408 [^]*application\/json[^]*receive_timeout/);
});

test('a body that drips in is cut when its time is over', async () => {
  const target = await server({ connections: hasty });
  const client = new RawClient(target);
  client.socket.write(
    'POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  const drip = setInterval(() => client.socket.write('1\r\n \r\n'), 20);
  await client.closed;
  clearInterval(drip);
  expect(client.statuses).toEqual([408]);
});

test('generation is no part of the time for a request to arrive', async () => {
  const connections = { headMs: 1000, receiveMs: 1000 };
  const target = await server({ script: babbles, engine: { delayMs: 15 }, connections });
  const response = await post(target, '/v1/completions', { ...endless, max_tokens: 120 });
  expect(await response.text()).toContain('[DONE]');
});

test.each([
  ['GARBAGE\r\n\r\n', 400, 'invalid_http'],
  [`GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'header_too_large'],
])(
  'what is no request gets an error in JSON, and the connection ends',
  async (text, status, code) => {
    const client = new RawClient(await server());
    client.socket.write(text);
    await client.closed;
    expect(client.statuses).toEqual([status]);
    expect(client.text).toContain(code);
  },
);

test('a client that keeps a refused upgrade open is cut', async () => {
  const { url } = await server();
  const port = Number(new URL(url).port);
  const socket = createConnection({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.on('error', () => {});
  socket.write(
    'GET /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  const [data] = await once(socket, 'data');
  expect(data.toString('latin1')).toMatch(/^HTTP\/1\.1 404 /);
  const closed = new Promise((resolve) => {
    socket.once('close', resolve);
  });
  const drip = setInterval(() => socket.write('x'), 20);
  await closed;
  clearInterval(drip);
});

const impatient = { stalledReaderMs: 200, readerBytesPerSecond: 2 ** 30 };

test.each([true, false])('a client that stops reading is cut, stream: %s', async (stream) => {
  const accepted = acceptedSockets();
  const target = await server({ generator: pours(1000), connections: impatient });
  const client = new RawClient(target);
  client.socket.pause();
  client.post({ ...endless, stream });
  await vi.waitFor(() => expect(accepted()[0]?.destroyed).toBe(true));
  client.socket.resume();
  await client.closed;
  expect(client.statuses).toEqual([200]);
  expect(client.text.length).toBeLessThan(1000 * 64 * 1024);
});

test('a client that reads slowly is not cut, nor one that has a large answer to read', () => {
  vi.useFakeTimers();
  const connections = new Connections(places(), {
    mayUseReserve: () => true,
    stalledReaderMs: 6000,
    readerBytesPerSecond: 1000,
  });
  const steady = new FakeSocket(5000);
  const stuck = new FakeSocket(5000);
  const large = new FakeSocket(60_000);
  for (const socket of [steady, stuck, large]) connections.add(socket as unknown as Socket);
  for (let second = 0; second < 30; second++) {
    vi.advanceTimersByTime(1000);
    if (second % 4 === 0) steady.bytesWritten += 10;
  }
  expect([steady, stuck, large].map(({ destroyed }) => destroyed)).toEqual([false, true, false]);
  vi.advanceTimersByTime(60_000);
  expect(large.destroyed).toBe(true);
  connections.close();
  vi.useRealTimers();
});

test('a WebSocket client that stops reading is cut', async () => {
  const accepted = acceptedSockets();
  const target = await server({ generator: pours(1000), connections: impatient });
  const client = await connect(target, '/v1/completions');
  client.socket.pause();
  client.send({ ...endless, request_id: 'a' });
  await vi.waitFor(() => expect(accepted()[0]?.destroyed).toBe(true));
  client.socket.resume();
  expect(await client.closed).toBe(1006);
});
