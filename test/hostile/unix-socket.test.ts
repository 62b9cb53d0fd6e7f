/** A server on a unix socket, by every way in which its first port is attacked, and killed. */
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { runCli } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { askUnix } from '../server/support/unix-request.ts';
import { FAMILIES } from './support/port-families.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());
const path = join(cache.path, 'c.sock');
const FLAGS = ['--log-level=warn', '--threads=1', '--kv-cache-memory=128m', '--shutdown-timeout=1'];
const body = { prompt: 'Once upon a time', max_tokens: 8, temperature: 0 };

async function serve() {
  const child = runCli(['serve', '--host', `unix:${path}`, ...FLAGS], cache.env);
  let output = '';
  onTestFinished(() => void child.kill('SIGKILL'));
  child.stderr?.resume();
  child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
  while (!output.includes(`at unix:${path}`)) await sleep(50);
  return child;
}

async function open(): Promise<Socket | null> {
  const socket = connect(path);
  socket.on('error', () => {});
  await Promise.race([once(socket, 'connect'), once(socket, 'close')]);
  return socket.destroyed ? null : socket;
}

it.each(['first', 'webSocket'] as const)('%s: all that is said to ports', async (port) => {
  const child = await serve();
  const before = await askUnix(path, '/v1/completions', body);
  for (const { words, count, isRead = true } of Object.values(FAMILIES)) {
    for (const parts of words(port)) {
      const sockets = await Promise.all(Array.from({ length: Math.min(count, 64) }, open));
      for (const socket of sockets) {
        if (isRead) socket?.resume();
        socket?.write(Buffer.concat(parts));
      }
      await sleep(100);
      for (const socket of sockets) socket?.destroy();
    }
  }
  const idle = await Promise.all(Array.from({ length: 1100 }, open));
  const after = await askUnix(path, '/v1/completions', body);
  for (const socket of idle) socket?.destroy();
  const textOf = (text: string) => (JSON.parse(text) as { choices: unknown }).choices;
  expect(textOf(after.body)).toEqual(textOf(before.body));
  child.kill('SIGTERM');
  await once(child, 'close');
  expect(existsSync(path)).toBe(false);
});

it('killed, the next one takes the place; while it lives, no other does', async () => {
  const first = await serve();
  first.kill('SIGKILL');
  await once(first, 'close');
  expect(existsSync(path)).toBe(true);
  const second = await serve();
  const third = runCli(['serve', '--host', `unix:${path}`, ...FLAGS], cache.env);
  third.stdout?.resume();
  third.stderr?.resume();
  expect(await once(third, 'close')).toEqual([1, null]);
  expect((await askUnix(path, '/health')).status).toBe(200);
  second.kill('SIGTERM');
  await once(second, 'close');
  expect(existsSync(path)).toBe(false);
});
