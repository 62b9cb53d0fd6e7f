import { stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeFolder } from '../../src/files/make-folder.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

test('makes what is missing, with its mode, and leaves what is there', async () => {
  const folder = await temporaryDirectory();
  const path = join(folder, 'a', 'b', 'c');
  await makeFolder(path, 0o700);
  for (const made of [path, join(folder, 'a')]) {
    expect(await modeOf(made)).toBe(process.platform === 'win32' ? 0o666 : 0o700);
  }
  await makeFolder(path);
  await makeFolder('/');
});

test('several at once make the same folder', async () => {
  const path = join(await temporaryDirectory(), 'a', 'b', 'c');
  await Promise.all(Array.from({ length: 8 }, () => makeFolder(path)));
  expect((await stat(path)).isDirectory()).toBe(true);
});

test('a file in the way is an error', async () => {
  const folder = await temporaryDirectory();
  const file = join(folder, 'file');
  await writeFile(file, '');
  await expect(makeFolder(file)).rejects.toThrow('EEXIST');
  await expect(makeFolder(join(file, 'a', 'b'))).rejects.toThrow('ENOTDIR');
  await symlink(join(folder, 'nowhere'), join(folder, 'link'));
  await expect(makeFolder(join(folder, 'link'))).rejects.toThrow('EEXIST');
});

// There mkdir says that the folder above is missing, which it is not.
test.runIf(process.platform === 'linux')('below /proc it fails, and ends', async () => {
  await expect(makeFolder('/proc/chairlift/cache')).rejects.toThrow(
    "ENOENT: no such file or directory, mkdir '/proc/chairlift'",
  );
});
