import { mkdir, readdir, utimes } from 'node:fs/promises';
import { basename, join } from 'node:path';

import { expect, test } from 'vitest';

import {
  createStagingDirectory,
  discard,
  removeStaleStaging,
} from '../../../src/model/build/staging.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A process id that Linux gives to no process: above its highest. */
const NO_PROCESS = 2 ** 22 + 1;

const LONG_AGO = new Date(Date.now() - 30 * 24 * 60 * 60 * 1000);

test('only what dead builders left is removed', async () => {
  const parent = await temporaryDirectory();
  const make = async (name: string, time?: Date): Promise<string> => {
    await mkdir(join(parent, name), { recursive: true });
    if (time !== undefined) {
      await utimes(join(parent, name), time, time);
    }
    return name;
  };
  const own = basename(await createStagingDirectory(join(parent, 'own')));
  const parentProcess = own.replace(`-${process.pid}-`, `-${process.ppid}-`);
  const kept = [
    own,
    await make(parentProcess, LONG_AGO),
    await make('a.building-00000000-5-ab'),
    await make('finished', LONG_AGO),
  ];
  await make(own.replace(`-${process.pid}-`, `-${NO_PROCESS}-`));
  await make(own.replace('own.', 'earlier-life.'), LONG_AGO);
  await make('b.building-00000000-5-ab', LONG_AGO);

  await removeStaleStaging(parent);
  expect(await readdir(parent)).toEqual(kept.sort());
});

test('a directory that is not there has nothing to remove', async () => {
  await expect(removeStaleStaging(join(await temporaryDirectory(), 'none'))).resolves.toBe(
    undefined,
  );
});

test('what is damaged is taken away, what is whole again since stays, what is gone is no error', async () => {
  const parent = await temporaryDirectory();
  const folder = join(parent, 'build');
  await mkdir(folder);
  await discard(folder, async () => true);
  expect(await readdir(parent)).toEqual(['build']);
  await discard(folder, async () => false);
  expect(await readdir(parent)).toEqual([]);
  await discard(folder, async () => false);
  expect(await readdir(parent)).toEqual([]);
});
