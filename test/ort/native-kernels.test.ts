import { cp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sourcesHash } from '../../scripts/native/compile.ts';
import { loadNativeKernels } from '../../src/ort/native-kernels.ts';
import { PREBUILT } from '../../src/ort/native-library.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const LIBRARY = `${process.platform}-${process.arch}/libchairlift.so`;

async function copyOfPrebuilt(): Promise<string> {
  const folder = await temporaryDirectory();
  await cp(PREBUILT, folder, { recursive: true });
  return folder;
}

test('the libraries in the repository are made of the sources in it', async () => {
  const list: unknown = JSON.parse(await readFile(join(PREBUILT, 'libraries.json'), 'utf8'));
  const hashes = Object.values(list as Record<string, { sources: string }>).map(
    ({ sources }) => sources,
  );
  expect(hashes.length).toBeGreaterThan(0);
  // `npm run build:native` makes them anew.
  for (const hash of hashes) expect(hash).toBe(sourcesHash());
});

test('each library is smaller than 376 KiB', async () => {
  for (const platform of await readdir(PREBUILT)) {
    if (platform === 'libraries.json') continue;
    const { size } = await stat(join(PREBUILT, platform, 'libchairlift.so'));
    expect(size, platform).toBeLessThan(376 * 1024);
  }
});

test('the library is loaded, and says what it computes with', () => {
  expect(loadNativeKernels(PREBUILT)).toMatchObject({
    instructions: expect.stringMatching(/^(amx|avx512|avxvnni|avx2|i8mm|neon|scalar)$/),
  });
});

test.each([
  ['is missing', (folder: string) => Promise.resolve(join(folder, 'elsewhere')), 'there are none'],
  [
    'has a bit changed',
    async (folder: string) => {
      const path = join(folder, LIBRARY);
      const bytes = await readFile(path);
      bytes[bytes.length >> 1]! ^= 1;
      await writeFile(path, bytes);
      return folder;
    },
    'is damaged',
  ],
  [
    'is cut off',
    async (folder: string) => {
      const path = join(folder, LIBRARY);
      await writeFile(path, (await readFile(path)).subarray(0, 5000));
      return folder;
    },
    'is damaged',
  ],
  [
    'is of other sources than the list says',
    async (folder: string) => {
      const path = join(folder, 'libraries.json');
      const text = await readFile(path, 'utf8');
      await writeFile(path, text.replaceAll(sourcesHash(), '0'.repeat(64)));
      return folder;
    },
    'is of another version',
  ],
  [
    'has no list',
    async (folder: string) => {
      await writeFile(join(folder, 'libraries.json'), '{');
      return folder;
    },
    'JSON',
  ],
])('there are no kernels where the library %s', async (_, change, reason) => {
  const found = loadNativeKernels(await change(await copyOfPrebuilt()));
  expect(found).toEqual({ missing: expect.stringContaining(reason) });
});
