/** Bytes that come over WebSockets are charged as bodies are: from the first one, until they are parsed. */
import { once } from 'node:events';
import { createConnection } from 'node:net';
import { expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { BodyBudget } from '../../src/server/http/body-budget.ts';
import { babbles, useServers, type TestServer } from './support/test-server.ts';
import { connect } from './support/web-socket.ts';

const server = useServers();

const PATHS = ['/v1/completions', '/v1/responses'];

/** How much more a client may have at once. */
function leftOf(budget: BodyBudget, client: string): number {
  for (let numBytes = 0; ; numBytes += 100) {
    try {
      budget.charge(client, numBytes);
      budget.release(client, numBytes);
    } catch {
      return numBytes - 100;
    }
  }
}

/** A WebSocket that has begun a message, masked by zeros. */
async function begun({ url }: TestServer, path: string, payload: string) {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  const closed = once(socket, 'close');
  socket.write(
    `GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  );
  await once(socket, 'data');
  socket.resume();
  const goOn = (text: string): void => {
    const head = Buffer.from([0x00, 0x80 | 126, text.length >> 8, text.length & 0xff, 0, 0, 0, 0]);
    socket.write(Buffer.concat([head, Buffer.from(text)]));
  };
  socket.write(Buffer.from([0x01, 0x80, 0, 0, 0, 0]));
  goOn(payload);
  return { socket, closed, goOn };
}

test.each(PATHS)(
  '%s: a message that has begun is charged until its socket is gone',
  async (path) => {
    const bodyBudget = new BodyBudget(100_000, 100_000);
    const target = await server({ bodyBudget });
    const { socket } = await begun(target, path, ' '.repeat(40_000));
    await vi.waitFor(() => expect(leftOf(bodyBudget, '')).toBeLessThan(61_000));
    socket.destroy();
    await vi.waitFor(() => expect(leftOf(bodyBudget, '')).toBe(100_000));
  },
);

test('pings in between change nothing', async () => {
  const bodyBudget = new BodyBudget(100_000, 100_000);
  const { socket, goOn } = await begun(
    await server({ bodyBudget }),
    '/v1/completions',
    'x'.repeat(40_000),
  );
  for (let count = 0; count < 100; count++) {
    socket.write(Buffer.from([0x89, 0x83, 0, 0, 0, 0, 1, 2, 3]));
  }
  goOn('x'.repeat(20_000));
  await vi.waitFor(() => expect(leftOf(bodyBudget, '')).toBeLessThan(41_000));
  await vi.waitFor(() => expect(leftOf(bodyBudget, '')).toBeGreaterThan(38_000));
  socket.destroy();
});

test('a socket for whose bytes there is no room is told, and closed', async () => {
  const bodyBudget = new BodyBudget(100_000, 50_000);
  const target = await server({ bodyBudget });
  const first = await begun(target, '/v1/completions', 'x'.repeat(30_000));
  await vi.waitFor(() => expect(leftOf(bodyBudget, '')).toBeLessThan(21_000));
  const second = await connect(target, '/v1/completions');
  second.send({ request_id: 'a', prompt: 'x'.repeat(30_000) });
  const [frame] = await second.until(({ error }) => error !== undefined);
  expect(frame?.error?.code).toBe('too_many_bodies');
  await vi.waitFor(() => expect(second.socket.readyState).toBe(second.socket.CLOSING));
  second.socket.terminate();
  first.socket.destroy();
  await vi.waitFor(() => expect(leftOf(bodyBudget, '')).toBe(50_000));
});

test('what was handled is not charged any more', async () => {
  const bodyBudget = new BodyBudget(100_000, 100_000);
  const client = await connect(await server({ bodyBudget }), '/v1/completions');
  const ids = Array.from({ length: 20 }, (_, index) => `r${index}`);
  for (const id of ids) client.send({ request_id: id, prompt: 'Hi' });
  for (const id of ids) await client.answer(id);
  expect(leftOf(bodyBudget, '')).toBe(100_000);
  client.socket.close();
});

test('events that wait for the response at work are charged', async () => {
  const bodyBudget = new BodyBudget(100_000, 100_000);
  const target = await server({ bodyBudget, script: babbles, engine: { heldAfter: 1 } });
  const { url } = target;
  const client = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`);
  await once(client, 'open');
  for (const input of ['Hi', 'x'.repeat(30_000)]) {
    client.send(JSON.stringify({ type: 'response.create', input }));
  }
  await vi.waitFor(() => expect(leftOf(bodyBudget, '')).toBeLessThan(71_000));
  client.terminate();
  await vi.waitFor(() => expect(leftOf(bodyBudget, '')).toBe(100_000));
  target.engine.release();
});
