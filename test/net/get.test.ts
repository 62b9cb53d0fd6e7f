import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { ConnectionError, get, readJsonAnswer, redirected } from '../../src/net/get.ts';

/** Serves until the test ends; returns the address. */
async function serve(answer: RequestListener): Promise<URL> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

test('gives status and body', async () => {
  const url = await serve((request, response) => {
    response.writeHead(404).end(JSON.stringify(request.headers));
  });
  const answer = await get(url, { range: 'bytes=5-' });
  expect(answer.status).toBe(404);
  expect(await readJsonAnswer(answer)).toMatchObject({ range: 'bytes=5-', host: url.host });
});

test('follows redirects, and takes the token to no other origin', async () => {
  const seen: (string | undefined)[] = [];
  const elsewhere = await serve(({ headers }, response) => {
    seen.push(headers.authorization);
    response.end(headers.range);
  });
  const url = await serve(({ headers, url: path }, response) => {
    seen.push(headers.authorization);
    const location = path === '/' ? '/next' : elsewhere.href;
    response.writeHead(307, { location }).end('look there');
  });
  const { status, body } = await get(url, { authorization: 'Bearer secret', range: 'bytes=1-' });
  expect([status, await text(body)]).toEqual([200, 'bytes=1-']);
  expect(seen).toEqual(['Bearer secret', 'Bearer secret', undefined]);
});

test('ends where redirects do not', async () => {
  const url = await serve((_, response) => void response.writeHead(302, { location: '/' }).end());
  await expect(get(url)).rejects.toThrow(ConnectionError);
});

test.each(['file:///etc/passwd', 'ftp://hub/x', 'http://', 'data:,x'])(
  'does not follow a redirect to %s',
  async (location) => {
    const url = await serve((_, response) => void response.writeHead(302, { location }).end());
    await expect(get(url)).rejects.toThrow('redirects to an address that is not allowed');
  },
);

test('follows redirects to TLS, and not out of it', () => {
  const secure = new URL('https://hub/a');
  expect(redirected('https://other/', new URL('http://hub/')).href).toBe('https://other/');
  expect(redirected('../b?c', secure).href).toBe('https://hub/b?c');
  expect(() => redirected('http://hub/b', secure)).toThrow(ConnectionError);
});

test('an answer in JSON has an end', async () => {
  const url = await serve((_, response) => {
    const chunk = `"${'a'.repeat(2 ** 20)}"`;
    const write = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on('drain', write);
    write();
  });
  await expect(get(url).then(readJsonAnswer)).rejects.toThrow('the answer has more than');
});

test('an answer can be read after its connection has ended', async () => {
  const content = 'a'.repeat(64 * 1024);
  const url = await serve((_, response) => {
    response.setHeader('connection', 'close');
    response.end(content);
  });
  const { body } = await get(url);
  await sleep(100);
  expect(await text(body)).toBe(content);
});

test('an answer that breaks off is an error to who reads it', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-length': 10 });
    response.write('half', () => response.destroy());
  });
  const { body } = await get(url);
  await expect(text(body)).rejects.toThrow('aborted');
});

test('says why there is no answer', async () => {
  const url = await serve(() => {});
  await expect(get(url, {}, 50)).rejects.toThrow('the connection is silent');
  const gone = createTcpServer().listen(0);
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  gone.close();
  await expect(get(new URL(`http://localhost:${port}`))).rejects.toThrow(/ECONNREFUSED/);
});
