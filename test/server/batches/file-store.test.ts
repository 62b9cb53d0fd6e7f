import { existsSync } from 'node:fs';
import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import { afterEach, expect, test, vi } from 'vitest';
import { FileStore } from '../../../src/server/batches/file-store.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const SWEEP_MS = 60_000;

afterEach(() => {
  vi.useRealTimers();
});

test('a file whose time is over and that can not be removed is removed at a later look', async () => {
  let now = 0;
  const store = await FileStore.open(await temporaryDirectory(), 1000, () => now);
  const id = store.newId();
  const facts = { id, client: 'a', purpose: 'batch', filename: 'x', bytes: 3 } as const;
  await store.add(facts, 10);
  // A folder in place of its content is not removed as a file is.
  await mkdir(store.pathOf(id));
  now = 11;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const end = store.startSweeping(() => false);
  vi.advanceTimersByTime(SWEEP_MS);
  await expect.poll(() => existsSync(store.pathOf(id).replace(/l$/, ''))).toBe(false);
  await rmdir(store.pathOf(id));
  await writeFile(store.pathOf(id), '{}');
  const isThere = () => {
    vi.advanceTimersByTime(SWEEP_MS);
    return existsSync(store.pathOf(id));
  };
  await expect.poll(isThere).toBe(false);
  end();
});
