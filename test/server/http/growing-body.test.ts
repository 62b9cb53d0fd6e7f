import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createConnection } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { GrowingBody } from '../../../src/server/http/growing-body.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** @returns the port of a server that answers with what `write` does */
async function serve(write: (body: GrowingBody, response: ServerResponse) => Promise<unknown>) {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.flushHeaders();
    void write(new GrowingBody(response), response).then(() => response.end());
  });
  servers.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}

const PIECES = ['data: a\n\n', 'é', '', '😀 "x"', '\ud83d', 'x'.repeat(70_000), '\u0000'];

test('a body is its pieces, whatever characters they have', async () => {
  const port = await serve(async (body) => {
    for (const piece of PIECES) await body.write(piece);
  });
  const response = await fetch(`http://127.0.0.1:${port}`);
  // A lone surrogate has no bytes of its own.
  expect(await response.text()).toBe(PIECES.map((piece) => Buffer.from(piece).toString()).join(''));
});

test('a client of HTTP 1.0 gets the pieces as they are', async () => {
  const port = await serve(async (body) => {
    for (const piece of ['a\n\n', 'b\n\n']) await body.write(piece);
  });
  const socket = createConnection(port, '127.0.0.1');
  socket.write('GET / HTTP/1.0\r\n\r\n');
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  expect(text.split('\r\n\r\n')[1]).toBe('a\n\nb\n\n');
});

test('a piece is one write to the connection', async () => {
  let numWrites = 0;
  const port = await serve(async (body, response) => {
    await setImmediate();
    const { socket } = response;
    if (socket === null) return;
    const write = vi.spyOn(socket, '_write');
    const gathered = vi.spyOn(socket, '_writev');
    for (let piece = 0; piece < 10; piece++) await body.write(`data: ${piece}\n\n`);
    numWrites = write.mock.calls.length + gathered.mock.calls.length * 100;
  });
  await (await fetch(`http://127.0.0.1:${port}`)).text();
  expect(numWrites).toBe(10);
});

test('a client that does not read holds back what is written', async () => {
  let isBehind: Promise<void> | undefined;
  const port = await serve(async (body) => {
    while (isBehind === undefined) isBehind = body.write('x'.repeat(2 ** 20));
    await isBehind;
  });
  const socket = createConnection(port, '127.0.0.1').pause();
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await vi.waitFor(() => expect(isBehind).toBeDefined());
  let hasCaughtUp = false;
  void isBehind?.then(() => (hasCaughtUp = true));
  await setImmediate();
  expect(hasCaughtUp).toBe(false);
  socket.resume();
  await vi.waitFor(() => expect(hasCaughtUp).toBe(true));
  socket.destroy();
});
