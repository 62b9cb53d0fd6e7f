/** Servers that listen on a unix socket. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { requireLocal } from '../../../src/server/auth/local-request.ts';
import { ConnectionPlaces } from '../../../src/server/http/connection-places.ts';
import { openUnixSocket } from '../../../src/server/http/unix-socket.ts';
import { useServers } from '../support/test-server.ts';
import { askUnix } from '../support/unix-request.ts';

const server = useServers();
let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chairlift-unix-'));
  path = join(folder, 'c.sock');
});
afterEach(() => rm(folder, { recursive: true }));

const onSocket = () => ({ listensOn: `unix:${path}`, config: { host: `unix:${path}` } });
const prompt = { prompt: 'Hi', max_tokens: 2 };

/** A socket whose process was killed. */
async function leaveStale(): Promise<void> {
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'close');
  expect(statSync(path).isSocket()).toBe(true);
}

test('answers there, and takes the file away when it closes', async () => {
  const target = await server(onSocket());
  expect(target.url).toBe(`unix:${path}`);
  expect((await askUnix(path, '/v1/completions', prompt)).status).toBe(200);
  expect(statSync(path).mode & 0o777).toBe(0o777 & ~process.umask());
  await target.close();
  expect(existsSync(path)).toBe(false);
});

test('takes the place of a server that was killed', async () => {
  await leaveStale();
  await server(onSocket());
  expect((await askUnix(path, '/health')).status).toBe(200);
});

test('leaves a server alone that listens there', async () => {
  const first = createServer().listen(path);
  await once(first, 'listening');
  await expect(server(onSocket())).rejects.toThrow(/^another server listens on .*c\.sock/);
  await new Promise<void>((resolve) => {
    const socket = connect(path, () => resolve(void socket.destroy()));
  });
  first.close();
});

test.each([
  ['a file', () => writeFile(path, 'precious')],
  ['a link to a socket', () => symlink('/dev/log', path)],
])('leaves %s alone', async (_, make) => {
  await make();
  await expect(openUnixSocket(createServer(), path)).rejects.toThrow('is no socket');
  expect(existsSync(folder) && statSync(folder).isDirectory()).toBe(true);
  await expect(openUnixSocket(createServer(), path)).rejects.toThrow('is no socket');
});

test('says in a line which folder is not there', async () => {
  const missing = join(folder, 'none', 'c.sock');
  await expect(openUnixSocket(createServer(), missing)).rejects.toThrow(
    `can't make ${missing}: its folder must be there`,
  );
});

test('all who come by it have one rate together', async () => {
  await server({ ...onSocket(), rates: { requests: 2 } });
  const statuses = [];
  for (let count = 0; count < 3; count++) {
    statuses.push((await askUnix(path, '/v1/completions', prompt)).status);
  }
  expect(statuses).toEqual([200, 200, 429]);
});

test('all who come by it share the connections of one address', async () => {
  const places = new ConnectionPlaces({ maxConnections: 100, maxConnectionsPerAddress: 2 });
  await server({ ...onSocket(), connections: { places } });
  const sockets = Array.from({ length: 2 }, () => connect(path));
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  const refused = await askUnix(path, '/health');
  expect([refused.status, refused.body]).toEqual([429, expect.stringContaining('too_many_connec')]);
  for (const socket of sockets) socket.destroy();
});

test('without keys it is the operator who comes by it, unless from a page or by a proxy', async () => {
  await server(onSocket());
  expect((await askUnix(path, '/slots')).status).toBe(200);
  for (const headers of [{ origin: 'http://evil.example' }, { 'x-forwarded-for': '203.0.113.9' }]) {
    expect((await askUnix(path, '/slots', undefined, headers)).status).toBe(403);
  }
  // A page's name, which a proxy passes on.
  const { status } = await askUnix(path, '/v1/models', undefined, { host: 'evil.example' });
  expect(status).toBe(403);
});

test('a closed connection of a port, which has no address either, is nobody', () => {
  const request = { headers: {}, socket: { remoteAddress: undefined } };
  expect(() => requireLocal(request, { host: '0.0.0.0', corsOrigins: [] })).toThrow('this machine');
});
