import { createHash } from 'node:crypto';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, onTestFinished, test, vi } from 'vitest';

import { contentHash } from '../../../src/model/cache/content-hash.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

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
  expect(await contentHash(file, index)).toBe(sha256('abc'));
  const [entry = ''] = await readdir(index);
  const remembered = await readFile(join(index, entry), 'utf8');
  await writeFile(join(index, entry), remembered.replace(sha256('abc'), sha256('other')));
  expect(await contentHash(file, index)).toBe(sha256('other'));
});

test('a file of the same size and time but another content is noticed', async () => {
  const [file, index] = await fileAndIndex('abc');
  const wholeSecond = new Date(1_700_000_000_000);
  await utimes(file, wholeSecond, wholeSecond);
  letTimePass();
  await contentHash(file, index);
  await writeFile(file, 'xyz');
  await utimes(file, wholeSecond, wholeSecond);
  expect(await contentHash(file, index)).toBe(sha256('xyz'));
});

test('a file that changed just now is not remembered', async () => {
  const [file, index] = await fileAndIndex('abc');
  expect(await contentHash(file, index)).toBe(sha256('abc'));
  await expect(readdir(index)).rejects.toThrow('ENOENT');
});

test('a damaged memory is not believed', async () => {
  const [file, index] = await fileAndIndex('abc');
  letTimePass();
  await contentHash(file, index);
  const [entry = ''] = await readdir(index);
  const [state = ''] = (await readFile(join(index, entry), 'utf8')).split('\n');
  await writeFile(join(index, entry), `${state}\nnot a hash\n`);
  expect(await contentHash(file, index)).toBe(sha256('abc'));
});

test('a missing file is named', async () => {
  const folder = await temporaryDirectory();
  const file = join(folder, 'nowhere');
  await expect(contentHash(file, folder)).rejects.toThrow(`${file} cannot be read`);
});
