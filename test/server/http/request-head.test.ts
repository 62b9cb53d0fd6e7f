import { expect, test, vi } from 'vitest';
import { RawClient } from '../support/raw-client.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();

const DEEP = `/v2/models/a${'/versions/1'.repeat(100)}`;

test.each([
  ['a long path', `GET /${'a'.repeat(2048)} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 414],
  ['many segments', `GET ${DEEP} HTTP/1.1\r\nHost: localhost\r\n\r\n`, 414],
  ['half a character', 'GET /v1/%E0%A4%A HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
  ['a percent sign alone', 'GET /v2/models/%/ready HTTP/1.1\r\nHost: localhost\r\n\r\n', 400],
  ['parts of a replacement', 'GET /docs HTTP/1.1\r\nHost: $`$`\r\n\r\n', 400],
  ['a name that is none', 'GET /docs HTTP/1.1\r\nHost: xn--a\r\n\r\n', 400],
  ['a long name', `GET /livez HTTP/1.1\r\nHost: ${'a.'.repeat(200)}\r\n\r\n`, 400],
])('%s is refused before routes are matched, with and without keys', async (_, head, status) => {
  for (const apiKeys of [[], ['key']]) {
    const client = new RawClient(await server({ config: { apiKeys } }));
    client.socket.write(head);
    await client.closed;
    expect(client.statuses).toEqual([status]);
  }
});

test.each([
  [DEEP, 414],
  ['/v1/%E0%A4%A', 400],
])('a WebSocket of such a path is refused, too', async (path, status) => {
  const client = new RawClient(await server());
  client.get(
    path,
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
  );
  await client.closed;
  expect(client.statuses).toEqual([status]);
});

test.each(['localhost', '[::1]:8000', 'my_service.my-team.svc:80', '127.0.0.1'])(
  '%s is a host',
  async (host) => {
    const client = new RawClient(await server({ config: { apiKeys: ['key'] } }));
    client.socket.write(`GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await vi.waitFor(() => expect(client.statuses).toEqual([200]));
    client.socket.destroy();
  },
);
