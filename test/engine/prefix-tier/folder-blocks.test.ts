import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs/promises';
import { extname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type FileCalls, HEADER_BYTES } from '../../../src/engine/prefix-tier/block-file.ts';
import type { BlockKey } from '../../../src/engine/prefix-tier/block-names.ts';
import { FolderBlocks } from '../../../src/engine/prefix-tier/folder-blocks.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { BLOCK_BYTES, blockBytesOf, keysOf, ORIGIN } from '../../support/tier-blocks.ts';

const FILE_BYTES = BLOCK_BYTES + HEADER_BYTES;
const HOUR_MS = 3_600_000;

/** Trouble that the running test's folders told of. */
let told: string[] = [];
beforeEach(() => {
  told = [];
});

function open(path: string, maxBlocks = 100, files?: FileCalls, origin = ORIGIN): FolderBlocks {
  const limits = { path, maxBytes: maxBlocks * FILE_BYTES, maxAgeMs: HOUR_MS };
  const tell = (trouble: string) => void told.push(trouble);
  const folder = new FolderBlocks(limits, origin, BLOCK_BYTES, tell, files);
  onTestFinished(() => folder.close());
  return folder;
}

async function opened(...[path, ...rest]: Partial<Parameters<typeof open>>) {
  const at = path ?? (await temporaryDirectory());
  const folder = open(at, ...rest);
  await folder.sweep();
  return { path: at, folder };
}

const writeAll = async (folder: FolderBlocks, keys: readonly BlockKey[]): Promise<void> => {
  for (const key of keys) await folder.write(key, blockBytesOf(key));
};
async function isWholeOrAbsent(folder: FolderBlocks, key: BlockKey): Promise<boolean> {
  const bytes = await folder.read(key);
  return bytes === null || Buffer.compare(bytes, blockBytesOf(key)) === 0;
}
const fileOf = (path: string, { name }: BlockKey) => join(path, `${name}.kv`);
const [first, second] = keysOf(1, 2) as [BlockKey, BlockKey];

describe('a folder of blocks', () => {
  it('gives back the bytes, to others as well, and lets nobody else read them', async () => {
    const { path, folder } = await opened();
    await writeAll(folder, [first, second]);
    const { folder: other } = await opened(path);
    expect(other).toMatchObject({ size: 2, byteLength: 2 * FILE_BYTES });
    for (const key of [first, second]) {
      expect(await other.has(key)).toBe(true);
      expect(Buffer.compare((await other.read(key)) ?? Buffer.of(), blockBytesOf(key))).toBe(0);
    }
    const { mode } = await fs.stat(fileOf(path, first));
    expect(mode & 0o777).toBe(0o600);
    expect([folder.numErrors, other.numErrors]).toEqual([0, 0]);
  });

  it.each([0, 100, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 777_777, FILE_BYTES - 1])(
    'knows a file by which byte %i was flipped, and removes it',
    async (at) => {
      const { path, folder } = await opened();
      await writeAll(folder, [first]);
      const content = await fs.readFile(fileOf(path, first));
      content[at] = (content[at] ?? 0) ^ 0x10;
      await fs.writeFile(fileOf(path, first), content);
      expect(await folder.read(first)).toBeNull();
      expect(folder.numErrors).toBe(1);
      expect(told).toEqual([expect.stringContaining('is damaged')]);
      expect(await fs.readdir(path)).toEqual([]);
    },
  );

  it.each([0, 10, HEADER_BYTES, FILE_BYTES - 1, FILE_BYTES + 1])(
    'takes no file of %i bytes',
    async (length) => {
      const { path, folder } = await opened();
      await writeAll(folder, [first]);
      await fs.truncate(fileOf(path, first), length);
      expect(await folder.has(first)).toBe(false);
      expect(await folder.read(first)).toBeNull();
      // It is written again.
      await writeAll(folder, [first]);
      expect(await folder.read(first)).not.toBeNull();
    },
  );

  it.each([
    ['block', second, ORIGIN],
    ['text of the same name', { ...first, tokenIds: second.tokenIds }, ORIGIN],
    ['precision', first, { ...ORIGIN, precision: 'int8' }],
    ['model', first, { ...ORIGIN, model: 'another' }],
  ])('takes no file of another %s', async (_, key, origin) => {
    const { path, folder } = await opened();
    await writeAll(folder, [first]);
    await fs.copyFile(fileOf(path, first), fileOf(path, { ...key, name: 'f'.repeat(64) }));
    const { folder: other } = await opened(path, 100, undefined, origin);
    expect(await other.read({ ...key, name: 'f'.repeat(64) })).toBeNull();
    expect(other.numErrors).toBe(1);
  });

  it('waits for no pipe and follows no link', needs(LINUX), async () => {
    const { path, folder } = await opened();
    execFileSync('mkfifo', [fileOf(path, first)]);
    expect(await folder.read(first)).toBeNull();
    const elsewhere = join(await temporaryDirectory(), 'other');
    await writeAll(folder, [second]);
    await fs.rename(fileOf(path, second), elsewhere);
    await fs.symlink(elsewhere, fileOf(path, second));
    expect(await folder.read(second)).toBeNull();
    await fs.access(elsewhere);
  });
});

describe('a folder in trouble', () => {
  it('is of no use where a file is in the way, and fails nobody', async () => {
    const path = join(await temporaryDirectory(), 'file');
    await fs.writeFile(path, '');
    const { folder } = await opened(path);
    await writeAll(folder, [first]);
    expect(await folder.has(first)).toBe(false);
    expect(await folder.read(first)).toBeNull();
    await folder.touch([first.name]);
    expect(folder.numErrors).toBeGreaterThan(2);
  });

  it.each(['the disk is full', 'it can not be synced', 'it can not be renamed'])(
    'leaves nothing behind when %s, and tries no more for a while',
    async (trouble) => {
      let numOpened = 0;
      const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
        code: 'ENOSPC',
        syscall: 'write',
      });
      const files: FileCalls = {
        ...fs,
        async open(...given) {
          numOpened++;
          const file = await fs.open(...given);
          const writeFile = file.writeFile.bind(file);
          let numWrites = 0;
          if (trouble === 'it can not be synced') file.sync = () => Promise.reject(full);
          file.writeFile = async (content, ...rest) => {
            // The header fits, the bytes do not.
            if (trouble === 'the disk is full' && numWrites++ > 0) throw full;
            await writeFile(content, ...rest);
          };
          return file;
        },
        async rename(...given) {
          if (trouble === 'it can not be renamed') throw full;
          await fs.rename(...given);
        },
      };
      const { path, folder } = await opened(undefined, 100, files);
      await writeAll(folder, [first, second]);
      expect(await fs.readdir(path)).toEqual([]);
      expect({ numOpened, errors: folder.numErrors }).toEqual({ numOpened: 1, errors: 1 });
      expect(told).toEqual(['cannot write: the disk is full']);
      expect(folder).toMatchObject({ size: 0, byteLength: 0 });
      expect(await folder.read(first)).toBeNull();
    },
  );

  it.each(['header', 'half', 'name'])(
    'has whole files alone after a process was killed while it wrote: %s',
    async (where) => {
      const path = await temporaryDirectory();
      const script = join('test', 'support', 'killed-writer.ts');
      const child = spawn(process.execPath, ['--import', 'tsx', script, path, where], {
        stdio: 'inherit',
      });
      const [, signal] = await once(child, 'exit');
      expect(signal).toBe('SIGKILL');
      const endings = async () => (await fs.readdir(path)).map((name) => extname(name)).toSorted();
      expect(await endings()).toEqual(['.kv', '.kv', '.tmp']);
      const { folder } = await opened(path);
      const found = await Promise.all(keysOf(1, 8).map((key) => folder.read(key)));
      expect(found.map((bytes) => bytes !== null)).toEqual([true, true, ...Array(6).fill(false)]);
      for (const key of keysOf(1, 8)) expect(await isWholeOrAbsent(folder, key)).toBe(true);
      expect(folder.numErrors).toBe(0);
      // A file that was never finished goes once it is old, and does not keep others from writing.
      await writeAll(folder, keysOf(1, 8));
      for (const name of await fs.readdir(path)) {
        if (name.endsWith('.tmp')) await fs.utimes(join(path, name), 1, 1);
      }
      await folder.sweep();
      expect(await endings()).toEqual(Array(8).fill('.kv'));
    },
  );
});

describe('the bounds of a folder', () => {
  it('removes what was unused for longest, the ends of texts first', async () => {
    const { path, folder } = await opened(undefined, 10);
    const [old, used, more] = [keysOf(3, 5), keysOf(5, 5), keysOf(7, 1)];
    const namesOf = (keys: readonly BlockKey[]) => keys.map(({ name }) => name);
    await writeAll(folder, [...old, ...used]);
    await folder.touch(namesOf(used));
    await setTimeout(20);
    await folder.touch(namesOf(old));
    await writeAll(folder, more);
    expect(folder.size).toBe(9);
    const kept = new Set(await fs.readdir(path));
    for (const key of [...old, ...used.slice(0, 3), ...more]) {
      expect(kept.has(`${key.name}.kv`)).toBe(true);
    }
  });

  it('removes what is old, and nothing that is not its own', async () => {
    const { path, folder } = await opened();
    await writeAll(folder, [first, second]);
    const foreign = [`${'a'.repeat(64)}.txt`, 'notes.kv', `${'a'.repeat(64)}.kv.bak`];
    for (const name of foreign) await fs.writeFile(join(path, name), 'mine');
    await fs.mkdir(join(path, `${'b'.repeat(64)}.kv`));
    for (const name of await fs.readdir(path)) await fs.utimes(join(path, name), 1, 1);
    expect(await folder.has(first)).toBe(false);
    await folder.sweep();
    expect((await fs.readdir(path)).toSorted()).toEqual(
      [...foreign, `${'b'.repeat(64)}.kv`].toSorted(),
    );
  });

  it('holds for servers that share it', async () => {
    const { path, folder: one } = await opened(undefined, 16);
    const { folder: other } = await opened(path, 16);
    const keys = keysOf(9, 40);
    await Promise.all([
      writeAll(one, keys),
      writeAll(other, keys.toReversed()),
      (async () => {
        for (const key of [...keys, ...keys]) {
          expect(await isWholeOrAbsent(one, key)).toBe(true);
        }
      })(),
    ]);
    expect([one.numErrors, other.numErrors]).toEqual([0, 0]);
    // Each may have written a sixteenth since it looked.
    expect((await fs.readdir(path)).length).toBeLessThanOrEqual(16 + 2);
    await one.sweep();
    expect(one.size).toBeLessThanOrEqual(16);
  });
});
