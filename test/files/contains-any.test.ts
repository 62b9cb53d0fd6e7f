import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { containsAny } from '../../src/files/contains-any.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

test.each([0, 100, 2 ** 20 - 3, 2 ** 20 - 1, 2 ** 20, 3 * 2 ** 20])(
  'finds a text that begins at byte %i',
  async (at) => {
    const file = join(await temporaryDirectory(), 'file');
    const bytes = Buffer.alloc(at + 50, 0xc3);
    bytes.write('needle', at);
    await writeFile(file, bytes);
    expect(await containsAny(file, ['straw', 'needle'])).toBe(true);
    expect(await containsAny(file, ['straw', 'needles'])).toBe(false);
  },
);
