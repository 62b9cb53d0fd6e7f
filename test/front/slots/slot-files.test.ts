import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bytesOfText, HEADER_BYTES } from '../../../src/front/slots/saved-text.ts';
import { SlotFiles, type SlotFilesOptions } from '../../../src/front/slots/slot-files.ts';
import type { SlotText } from '../../../src/front/slots/slot-texts.ts';
import { LIMITS } from '../../../src/limits.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const HOUR_MS = 3_600_000;
const text = (length: number, cacheSalt = ''): SlotText => ({
  tokenIds: Int32Array.from({ length }, (_, at) => at * 3),
  cacheSalt,
});

async function open(options: Partial<SlotFilesOptions> = {}, ...files: [typeof fs] | []) {
  const path = options.path ?? (await temporaryDirectory());
  const bounds = { maxBytes: 1e9, maxAgeMs: HOUR_MS, model: 'M', maxTokens: 4096 };
  return new SlotFiles({ path, ...bounds, ...options }, ...files);
}

/** All files below a folder. */
async function filesBelow(path: string): Promise<string[]> {
  const entries = await fs.readdir(path, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => !entry.isDirectory()).map((e) => join(e.parentPath, e.name));
}
async function onlyFile(path: string): Promise<string> {
  const [only = ''] = await filesBelow(path);
  return only;
}

describe('saved texts', () => {
  it('come back, also in another server, with their salt', async () => {
    const path = await temporaryDirectory();
    // Each character becomes seven in the header, which has to hold it still.
    const saved = text(100, '\u0001'.repeat(LIMITS.shortTextCharacters));
    expect(await (await open({ path })).save('anna', 'n'.repeat(128), saved)).toBe(
      bytesOfText(100),
    );
    expect(await (await open({ path })).read('anna', 'n'.repeat(128))).toEqual(saved);
    const { mode, size } = await fs.stat(await onlyFile(path));
    expect({ mode: mode & 0o777, size }).toEqual({ mode: 0o600, size: bytesOfText(100) });
  });

  it('are nobody else’s, and no other model’s, under the same name', async () => {
    const path = await temporaryDirectory();
    const files = await open({ path });
    await files.save('anna', 'a', text(3));
    await files.save('bert', 'a', text(4));
    await (await open({ path, model: 'other' })).save('anna', 'a', text(5));
    expect((await files.read('anna', 'a'))?.tokenIds.length).toBe(3);
    expect((await files.read('bert', 'a'))?.tokenIds.length).toBe(4);
    expect(await files.read('', 'a')).toBeNull();
    await files.remove('bert', 'a');
    await files.remove('', 'a');
    expect(await files.read('bert', 'a')).toBeNull();
    expect((await files.read('anna', 'a'))?.tokenIds.length).toBe(3);
  });

  it('are nothing where a file lies in the place of another', async () => {
    const path = await temporaryDirectory();
    const files = await open({ path });
    await files.save('anna', 'a', text(3));
    const from = await onlyFile(path);
    await files.save('bert', 'b', text(4));
    const to = (await filesBelow(path)).find((file) => file !== from) ?? '';
    await fs.copyFile(from, to);
    expect(await files.read('bert', 'b')).toBeNull();
  });

  it.each([0, 50, 300, HEADER_BYTES - 1, HEADER_BYTES, HEADER_BYTES + 39])(
    'are nothing with byte %i flipped, or cut there',
    async (at) => {
      const path = await temporaryDirectory();
      const files = await open({ path });
      await files.save('anna', 'a', text(10));
      const file = await onlyFile(path);
      const content = await fs.readFile(file);
      await fs.truncate(file, at);
      expect(await files.read('anna', 'a')).toBeNull();
      content[at] = (content[at] ?? 0) ^ 0x10;
      await fs.writeFile(file, content);
      expect(await files.read('anna', 'a')).toBeNull();
      // The next one is whole again.
      await files.save('anna', 'a', text(11));
      expect((await files.read('anna', 'a'))?.tokenIds.length).toBe(11);
    },
  );

  it('are nothing where a link, a folder or a file of gigabytes is', async () => {
    const path = await temporaryDirectory();
    const files = await open({ path });
    await files.save('anna', 'a', text(10));
    const file = await onlyFile(path);
    await fs.truncate(file, 8e9);
    expect(await files.read('anna', 'a')).toBeNull();
    await fs.rename(file, `${file}.kept`);
    await fs.symlink(`${file}.kept`, file);
    expect(await files.read('anna', 'a')).toBeNull();
    await fs.rm(file);
    await fs.mkdir(file);
    expect(await files.read('anna', 'a')).toBeNull();
  });

  it('are nothing where a pipe is, and it waits for nobody', needs(LINUX), async () => {
    const path = await temporaryDirectory();
    const files = await open({ path });
    await files.save('anna', 'a', text(10));
    const file = await onlyFile(path);
    await fs.rm(file);
    execFileSync('mkfifo', [file]);
    expect(await files.read('anna', 'a')).toBeNull();
  });

  it('are whole whoever writes them at once', async () => {
    const path = await temporaryDirectory();
    const servers = await Promise.all([open({ path }), open({ path })]);
    const writes = Array.from({ length: 40 }, async (_, at) =>
      servers[at % 2]?.save('anna', 'a', text(100 + at)),
    );
    await Promise.all(writes);
    const read = await servers[0]?.read('anna', 'a');
    expect(read).toEqual(text(read?.tokenIds.length ?? 0));
    expect(await filesBelow(path)).toHaveLength(1);
  });

  it('make way: the oldest where they are too many, all that are too old', async () => {
    const path = await temporaryDirectory();
    const files = await open({ path });
    await files.save('bert', 'a', text(1));
    for (let at = 0; at < LIMITS.savedSlots + 2; at++) await files.save('anna', `${at}`, text(1));
    expect(await filesBelow(path)).toHaveLength(LIMITS.savedSlots + 1);
    expect(await files.read('bert', 'a')).not.toBeNull();
    const old = new Date(Date.now() - 2 * HOUR_MS);
    for (const file of await filesBelow(path)) await fs.utimes(file, old, old);
    expect(await files.read('bert', 'a')).toBeNull();
    await files.sweepAll();
    expect(await filesBelow(path)).toEqual([]);
    const small = await open({ path, maxBytes: 2 * bytesOfText(1) });
    for (const name of ['a', 'b', 'c']) await small.save('anna', name, text(1));
    expect(await filesBelow(path)).toHaveLength(2);
  });

  it('leave nothing of a write that fails, and what was there stays', async () => {
    const path = await temporaryDirectory();
    await (await open({ path })).save('anna', 'a', text(3));
    const full = Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', syscall: 'write' });
    const failing = {
      ...fs,
      open: async (...args: Parameters<typeof fs.open>) => {
        const file = await fs.open(...args);
        if (args[1] === 'wx') file.writeFile = () => Promise.reject(full);
        return file;
      },
    } as typeof fs;
    const files = await open({ path }, failing);
    await expect(files.save('anna', 'a', text(4))).rejects.toBe(full);
    expect((await files.read('anna', 'a'))?.tokenIds.length).toBe(3);
    expect(await filesBelow(path)).toHaveLength(1);
  });
});
