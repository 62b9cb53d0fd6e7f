/** A folder for prefixes that the server's user may not use: one warning, and it serves without. */
import { spawn } from 'node:child_process';
import { chmod, chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { LINUX, needs } from '../support/needs.ts';
import { STARTED } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Permissions don't hold for root, so that a server of root's is started as nobody. */
const NOBODY = 65_534;
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

it.each([
  ['read-only', 0o555, []],
  ['unreadable', 0o333, []],
  ['closed', 0o000, ['--prefix-cache-memory', '16m']],
] as const)('%s', needs(LINUX), async (_name, mode, flags) => {
  const home = await temporaryDirectory();
  const [cache, folder] = [join(home, 'cache'), join(home, 'prefixes')];
  for (const path of [cache, folder]) await mkdir(path);
  await chmod(home, 0o755);
  if (user.uid !== undefined) await chown(cache, NOBODY, NOBODY);
  await chmod(folder, mode);
  const args = ['serve', '--port', '0', '--log-level', 'warn', '--prefix-cache-dir', folder];
  const child = spawn(process.execPath, ['dist/cli/main.js', ...args, '--warmup=off', ...flags], {
    env: { ...process.env, CHAIRLIFT_CACHE: cache, HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const log = text(child.stderr);
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      const address = STARTED.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once('close', () => reject(new Error(said)));
  });
  const ask = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body) };
    return (await fetch(url + path, init)).status;
  };
  const prompt = 'A fox met a hare. '.repeat(40);
  expect(await ask('/completion', { prompt, n_predict: 4 })).toBe(200);
  expect(await ask('/slots/0?action=save', { filename: 'a' })).toBe(501);
  child.kill('SIGTERM');
  const lines = (said + (await log))
    .split('\n')
    .filter((line) => line.includes('prefix-cache-dir'));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(`--prefix-cache-dir ${folder}: permission denied`);
});
