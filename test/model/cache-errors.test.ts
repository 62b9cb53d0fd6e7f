import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { writingToCache } from '../../src/model/cache/cache-error.ts';
import { ModelError } from '../../src/model/model-error.ts';
import { pullModel } from '../../src/model/download/remote-model.ts';
import { hubRemote } from '../../src/model/hub/hub-remote.ts';
import { parseHubReference } from '../../src/model/hub/hub-repository.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { FakeHub } from '../support/fake-hub.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TINY = { kind: 'random', config: PRESETS.tiny, seed: 1 } as const;
const SUMMIT = { kind: 'folder', path: join('models', 'summit') } as const;

const build = (cacheDirectory: string, source: typeof TINY | typeof SUMMIT = TINY) =>
  prepareModel(source, { precision: 'fp32', cacheDirectory });

/** Not writable, not even for root: a file is in the way of the folder. */
async function brokenCache(...below: string[]): Promise<string> {
  const file = join(await temporaryDirectory(), 'file');
  await writeFile(file, '');
  return join(file, ...below);
}

test.each([{ below: [] }, { below: ['cache'] }])(
  'a cache below a file is told in words: $below',
  async (where) => {
    const cache = await brokenCache(...where.below);
    await expect(build(cache)).rejects.toThrow(ModelError);
    await expect(build(cache)).rejects.toThrow(
      `the cache ${cache} cannot be written to, a file is in the way of the folder (`,
    );
    await expect(build(cache, SUMMIT)).rejects.toThrow('set CHAIRLIFT_CACHE to a folder that is');
  },
);

test('a download says that the cache cannot be written to', async () => {
  const hub = await FakeHub.start({
    'config.json': JSON.stringify(PRESETS.tiny),
    'model.safetensors': 'weights',
  });
  onTestFinished(() => hub.stop());
  const pull = (cacheDirectory: string) =>
    pullModel(
      hubRemote(parseHubReference('hf:owner/name'), { endpoint: hub.endpoint, token: null }),
      {
        cacheDirectory,
        pickVariant: async () => ({ file: '' }),
        retryMs: 1,
      },
    );
  const cache = await brokenCache();
  await expect(pull(cache)).rejects.toThrow(`the cache ${cache} cannot be written to`);
  // Not taken for a connection that breaks, and not tried again.
  const other = await temporaryDirectory();
  const file = join(other, 'hub', 'owner--name', hub.commit, 'model.safetensors');
  await mkdir(`${file}.partial`, { recursive: true });
  await expect(pull(other)).rejects.toThrow('it is a folder, not a file');

  await rm(`${file}.partial`, { recursive: true });
  const folder = await pull(other);
  expect(await pull(other)).toBe(folder);
});

test('a cache that holds the build need not be written to', async () => {
  const cache = await temporaryDirectory();
  const first = await build(cache, SUMMIT);
  await rm(join(cache, 'content-hashes'), { recursive: true, force: true });
  await writeFile(join(cache, 'content-hashes'), '');
  expect(await build(cache, SUMMIT)).toEqual(first);
  expect(await readFile(join(cache, 'content-hashes'), 'utf8')).toBe('');
});

test.each([
  ['EROFS', 'the file system is read-only (EROFS /cache/x): the build is kept there'],
  ['EACCES', 'permission denied (EACCES /cache/x)'],
  ['EPERM', 'permission denied (EPERM /cache/x)'],
  ['ENOSPC', 'the disk is full: the build does not fit into /cache'],
  ['EDQUOT', 'the disk is full: the build does not fit into /cache'],
])('%s is told in words', async (code, words) => {
  const error = Object.assign(new Error(code), { code, syscall: 'mkdir', path: '/cache/x' });
  const writing = writingToCache('/cache', 'the build', () => Promise.reject(error));
  await expect(writing).rejects.toThrow(ModelError);
  await expect(writing).rejects.toThrow(words);
});

test('what does not come from writing stays as it is', async () => {
  const refused = Object.assign(new Error('no'), { code: 'EACCES', syscall: 'connect' });
  const other = new TypeError('a mistake');
  for (const error of [refused, other]) {
    await expect(writingToCache('/cache', 'the build', () => Promise.reject(error))).rejects.toBe(
      error,
    );
  }
});
