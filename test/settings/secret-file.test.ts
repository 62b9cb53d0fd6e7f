import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSecretFile, secretOf } from '../../src/settings/secret-file.ts';
import { redisUrl } from '../../src/serving/server/shared-state.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

async function fileWith(text: string): Promise<string> {
  const path = join(await temporaryDirectory(), 'secret');
  await writeFile(path, text);
  return path;
}

const read = async (text: string) => readSecretFile('resume-key', await fileWith(text));

test('a secret is a line, whose break does not count', async () => {
  expect(await read('word')).toBe('word');
  expect(await read('word\n')).toBe('word');
  expect(await read('two words \r\n')).toBe('two words ');
  expect(await secretOf('resume-key', 'word', undefined, String)).toBe('word');
  expect(await secretOf('resume-key', undefined, undefined, String)).toBeUndefined();
  const file = await fileWith('word\n');
  expect(await secretOf('resume-key', undefined, file, (text) => text.length)).toBe(4);
});

test.each([
  ['', /--resume-key-file .*secret: it is empty$/],
  ['\n', /it is empty$/],
  [' \n', /it is empty$/],
  ['one\ntwo\n', /expected one line$/],
  ['one\0two', /expected one line$/],
  ['x'.repeat(5000), /it has 5000 bytes, more than 4096$/],
])('%j is refused', async (text, message) => {
  await expect(read(text)).rejects.toThrow(message);
});

test('a file that is not there, a folder, and two secrets are refused', async () => {
  const folder = await temporaryDirectory();
  await expect(readSecretFile('hf-token', join(folder, 'none'))).rejects.toThrow(
    /^--hf-token-file .*none: no such file or folder$/,
  );
  await expect(readSecretFile('hf-token', folder)).rejects.toThrow(/it is not a file$/);
  await expect(secretOf('hf-token', 'word', await fileWith('word'), String)).rejects.toThrow(
    '--hf-token and --hf-token-file: give one of them',
  );
});

test("Redis' password goes into its address, whatever it is made of", async () => {
  const redisPasswordFile = await fileWith('a/b@c: %d\n');
  const url = await redisUrl({ redis: 'redis://name@host:6379/1', redisPasswordFile });
  const { username, password, host, pathname } = new URL(url ?? '');
  expect([username, decodeURIComponent(password), host, pathname]).toEqual([
    'name',
    'a/b@c: %d',
    'host:6379',
    '/1',
  ]);
  await expect(redisUrl({ redis: undefined, redisPasswordFile })).rejects.toThrow('needs --redis');
  const both = { redis: 'redis://:word@host', redisPasswordFile };
  await expect(redisUrl(both)).rejects.toThrow('give one of them');
  const { redis } = both;
  expect(await redisUrl({ redis, redisPasswordFile: undefined })).toBe(redis);
});
