import * as fs from 'node:fs/promises';
import type { FileCalls } from '../../src/engine/prefix-tier/block-file.ts';
import { FolderBlocks } from '../../src/engine/prefix-tier/folder-blocks.ts';
import { blockBytesOf, BLOCK_BYTES, keysOf, ORIGIN } from './tier-blocks.ts';

// Writes blocks into the folder given as first argument, and dies of SIGKILL in the middle of the third:
// after the header, after half of the bytes, or before it has its name, as the second says.
const [, , path = '', where = ''] = process.argv;
const die = () => process.kill(process.pid, 'SIGKILL');
let numOpened = 0;
const files: FileCalls = {
  ...fs,
  async open(...given) {
    const file = await fs.open(...given);
    if (++numOpened < 3) return file;
    const writeFile = file.writeFile.bind(file);
    let numWrites = 0;
    file.writeFile = async (content, ...rest) => {
      if (numWrites++ > 0) {
        if (where === 'header') die();
        if (where === 'half') await writeFile(blockBytesOf({ name: 'half' }).subarray(9));
        if (where === 'half') die();
      }
      await writeFile(content, ...rest);
    };
    return file;
  },
  async rename(...given) {
    if (numOpened === 3) die();
    await fs.rename(...given);
  },
};
const limits = { path, maxBytes: 2 ** 30, maxAgeMs: 3_600_000 };
const folder = new FolderBlocks(limits, ORIGIN, BLOCK_BYTES, () => {}, files);
await folder.sweep();
for (const key of keysOf(1, 8)) await folder.write(key, blockBytesOf(key));
