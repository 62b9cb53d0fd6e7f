import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readMembers, readRecords, toMember } from '../../src/distill/gzip-members.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { UserError } from '../../src/user-error.ts';

const TEXTS = ['first\n', 'ü'.repeat(5000), 'third\n'];
const BYTES = TEXTS.map((text) => toMember(text));

async function fileOf(bytes: Uint8Array): Promise<string> {
  const path = join(await temporaryDirectory(), 'records.gz');
  await writeFile(path, bytes);
  return path;
}

test('members are one text to any reader, and records to ours', async () => {
  const path = await fileOf(Buffer.concat(BYTES));
  expect(gunzipSync(await readFile(path)).toString()).toBe(TEXTS.join(''));
  expect(await readRecords(path)).toEqual(TEXTS);
});

test('a file cut anywhere has the records before the cut', async () => {
  const whole = Buffer.concat(BYTES);
  const ends = BYTES.map((_, index) => Buffer.concat(BYTES.slice(0, index + 1)).length);
  for (let length = 0; length <= whole.length; length++) {
    const path = await fileOf(whole.subarray(0, length));
    const file = await open(path, 'r');
    const found: number[] = [];
    for await (const { end } of readMembers(file, path)) found.push(end);
    await file.close();
    expect(found).toEqual(ends.filter((end) => end <= length));
  }
});

test.each([
  ['another file', Buffer.from('a text that is long enough to be a header')],
  ['a short text', Buffer.from('notes')],
  ['a changed byte', Buffer.concat(BYTES).fill(0, 25, 27)],
  ['zeros after it', Buffer.concat([...BYTES, Buffer.alloc(64)])],
])('%s is refused', async (_, bytes) => {
  const path = await fileOf(bytes);
  await expect(readRecords(path)).rejects.toThrow(UserError);
  await expect(readRecords(path)).rejects.toThrow(path);
});
