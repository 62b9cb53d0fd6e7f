import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { takeSample } from '../../../src/cli/profile/sample.ts';
import { serverAccess } from '../../../src/cli/server/server-access.ts';
import { ServerClient } from '../../../src/cli/server/server-client.ts';
import { settingsFrom } from '../../support/settings.ts';
import { UserError } from '../../../src/user-error.ts';

async function clientOf(listener: RequestListener): Promise<ServerClient> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close().closeAllConnections();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const url = new URL(`http://127.0.0.1:${port}`);
  return new ServerClient({ url, isGiven: true, apiKey: null });
}

test('a server on a unix socket is asked there', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-client-'));
  const path = join(folder, 'with space.sock');
  const server = createServer((_request, response) => response.end('{"models":["a"]}')).listen(
    path,
  );
  await once(server, 'listening');
  const { options } = await settingsFrom('ps', ['--url', `unix:${path}`], {});
  const client = new ServerClient(await serverAccess(options));
  expect(client.url).toBe(`unix:${path}`);
  expect(await client.get('api/ps', models)).toEqual({ models: ['a'] });
  server.close();
  await once(server, 'close');
  await expect(client.get('api/ps', models)).rejects.toThrow(`no server answers at unix:${path}`);
  await rm(folder, { recursive: true });
});

const models = z.object({ models: z.array(z.string()) });
const { signal } = new AbortController();

/** Whatever a command asks of the server. */
const asking: readonly ((client: ServerClient) => Promise<unknown>)[] = [
  (client) => client.get('api/ps', models),
  (client) => client.lines('api/chat', {}, models, signal).next(),
  (client) => takeSample(client, 'v1/chat/completions', {}),
];

test.each([
  ['a page of HTML', '<html></html>'],
  ['JSON of something else', '{"hello":"world"}'],
  ['events of something else', 'data: hello\n\n'],
])('another program, which answers with %s, is an error in words', async (_, body) => {
  const client = await clientOf((_request, response) => response.end(body));
  for (const ask of asking) {
    await expect(ask(client)).rejects.toThrow(UserError);
    await expect(ask(client)).rejects.toThrow(/is it another program|only Chairlift/);
  }
});

test('so is an answer that breaks off', async () => {
  const client = await clientOf((_request, response) => {
    response.writeHead(200, { 'content-length': 100 });
    response.write('{"models":', () => response.destroy());
  });
  for (const ask of asking) {
    await expect(ask(client)).rejects.toThrow(UserError);
  }
});
