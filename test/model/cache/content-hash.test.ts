import { createHash } from 'node:crypto';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, onTestFinished, test, vi } from 'vitest';

import { contentHash } from '../../../src/model/cache/content-hash.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const digestOf = (content: string | Buffer) => createHash('sha256').update(content).digest();
const hashOf = (...parts: (string | Buffer)[]) =>
  digestOf(Buffer.concat(parts.map(digestOf))).toString('hex');

/** Lets the file's times lie so far back that its hash may be remembered. */
function letTimePass(): void {
  const now = Date.now();
  const clock = vi.spyOn(Date, 'now').mockReturnValue(now + 60_000);
  onTestFinished(() => clock.mockRestore());
}

async function fileAndIndex(content: string): Promise<[file: string, index: string]> {
  const folder = await temporaryDirectory();
  const file = join(folder, 'weights');
  await writeFile(file, content);
  return [file, join(folder, 'index')];
}

test('a hash is remembered, and taken from memory while the file stays the same', async () => {
  const [file, index] = await fileAndIndex('abc');
  letTimePass();
  expect(await contentHash(file, index)).toBe(hashOf('abc'));
  const [entry = ''] = await readdir(index);
  const remembered = await readFile(join(index, entry), 'utf8');
  await writeFile(join(index, entry), remembered.replace(hashOf('abc'), hashOf('other')));
  expect(await contentHash(file, index)).toBe(hashOf('other'));
});

test('a file of the same size and time but another content is noticed', async () => {
  const [file, index] = await fileAndIndex('abc');
  const wholeSecond = new Date(1_700_000_000_000);
  await utimes(file, wholeSecond, wholeSecond);
  letTimePass();
  await contentHash(file, index);
  await writeFile(file, 'xyz');
  await utimes(file, wholeSecond, wholeSecond);
  expect(await contentHash(file, index)).toBe(hashOf('xyz'));
});

test('a file that changed just now is not remembered', async () => {
  const [file, index] = await fileAndIndex('abc');
  expect(await contentHash(file, index)).toBe(hashOf('abc'));
  await expect(readdir(index)).rejects.toThrow('ENOENT');
});

test('a damaged memory is not believed', async () => {
  const [file, index] = await fileAndIndex('abc');
  letTimePass();
  await contentHash(file, index);
  const [entry = ''] = await readdir(index);
  const [state = ''] = (await readFile(join(index, entry), 'utf8')).split('\n');
  await writeFile(join(index, entry), `${state}\nnot a hash\n`);
  expect(await contentHash(file, index)).toBe(hashOf('abc'));
});

test('parts of a mebibyte are hashed by themselves, in order', async () => {
  const parts = [0, 1, 2, 3, 4, 5, 6].map((part) => Buffer.alloc(part === 6 ? 5 : 2 ** 20, part));
  const [file, index] = await fileAndIndex('');
  await writeFile(file, Buffer.concat(parts));
  expect(await contentHash(file, index)).toBe(hashOf(...parts));
});

test('a missing file is named', async () => {
  const folder = await temporaryDirectory();
  const file = join(folder, 'nowhere');
  await expect(contentHash(file, folder)).rejects.toThrow(`${file} cannot be read`);
});
