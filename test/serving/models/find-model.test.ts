import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { findModel, referenceOf } from '../../../src/serving/models/find-model.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const COMMIT = 'a'.repeat(40);
let cache: Awaited<ReturnType<typeof temporaryCache>>;
let downloaded: string;

beforeEach(async () => {
  cache = await temporaryCache();
  vi.stubEnv('CHAIRLIFT_CACHE', cache.path);
  const home = join(cache.path, 'hub', 'Qwen--Qwen3-0.6B');
  downloaded = join(home, COMMIT);
  await mkdir(join(home, 'revisions'), { recursive: true });
  await mkdir(downloaded);
  await writeFile(join(home, 'revisions', 'main'), COMMIT);
  await writeFile(join(downloaded, 'config.json'), '{}');
  await writeFile(join(downloaded, 'model.safetensors'), '');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await cache.remove();
});

async function repository(): Promise<string> {
  const folder = await temporaryDirectory();
  for (const place of ['story/2', 'sums']) {
    await mkdir(join(folder, place), { recursive: true });
    await writeFile(join(folder, place, 'config.json'), '{}');
  }
  return folder;
}

describe('a model is', () => {
  test('a folder or a GGUF file, whatever else has its name', async () => {
    expect(await findModel('models/summit')).toEqual({
      source: resolve('models/summit'),
      name: 'summit',
    });
    const folder = await temporaryDirectory();
    await writeFile(join(folder, 'tiny-Q4_0.gguf'), '');
    expect(await findModel(join(folder, 'tiny-Q4_0.gguf'))).toMatchObject({
      source: join(folder, 'tiny-Q4_0.gguf'),
    });
  });

  test('an embedded one', async () => {
    const summit = { source: resolve('models/summit'), name: 'summit' };
    expect(await findModel('summit')).toEqual(summit);
    expect(await findModel('summit:latest')).toEqual(summit);
  });

  test('one of the repository, or a version of it', async () => {
    const folder = await repository();
    expect(await findModel('story', folder)).toEqual({
      source: join(folder, 'story', '2'),
      name: 'story',
    });
    expect((await findModel('story:2', folder)).name).toBe('story');
    expect((await findModel('sums', folder)).source).toBe(join(folder, 'sums'));
    await expect(findModel('story:3', folder)).rejects.toThrow(/no model story:3/);
  });

  test('one that was downloaded, without asking for a newer one', async () => {
    expect(await findModel('Qwen/Qwen3-0.6B')).toEqual({
      source: downloaded,
      name: 'Qwen/Qwen3-0.6B',
    });
  });

  test('one of the hub', async () => {
    const hub = { source: 'hf:owner/name', name: 'owner/name' };
    expect(await findModel('owner/name')).toEqual(hub);
    expect(await findModel('hf:owner/name')).toEqual(hub);
    expect(await findModel('hf.co/owner/name')).toEqual(hub);
    expect((await findModel('owner/name:Q4_K_M')).source).toBe('hf:owner/name:Q4_K_M');
    // There may be a newer one.
    expect((await findModel('hf:Qwen/Qwen3-0.6B')).source).toBe('hf:Qwen/Qwen3-0.6B');
    expect(referenceOf('./owner')).toBeNull();
  });
});

describe('a model that is not there is named in two lines, with what may have been meant', () => {
  test.each([
    ['sumit', /Did you mean summit\?/],
    ['qwen3-0.6b', /Did you mean Qwen\/Qwen3-0\.6B\?/],
    // A folder of this machine, and no owner on the hub.
    ['models/sumit', /Did you mean models\/summit/],
    ['./models/sumit', /Did you mean \.\/models\/summit/],
    ['/nowhere/at/all', /`chairlift list` shows foothill, summit, Qwen\/Qwen3-0\.6B/],
    ['zzz', /`chairlift list` shows/],
    // There are folders that are alike, but without a model.
    ['scripta', /`chairlift list` shows/],
  ])('%s', async (name, hint) => {
    const error: unknown = await findModel(name).catch((thrown: unknown) => thrown);
    const { message } = error as Error;
    expect(message).toMatch(hint);
    expect(message).toContain(`there is no model ${name}`);
    expect(message.split('\n')).toHaveLength(2);
    expect(message).toContain('docs/models-and-precision.md');
  });
});
