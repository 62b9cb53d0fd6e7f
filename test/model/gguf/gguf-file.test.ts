import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GgufFile } from '../../../src/model/gguf/gguf-file.ts';
import {
  ggufModelName,
  ggufParts,
  pickGguf,
  pickMmproj,
} from '../../../src/model/gguf/gguf-names.ts';
import { float32Tensor, ggufBytes, uint } from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function splitModel(change: Readonly<Record<number, object>> = {}): Promise<string> {
  const folder = await temporaryDirectory();
  for (const index of [0, 1, 2]) {
    const part = { 'split.no': uint(index), 'split.count': uint(3), ...change[index] };
    const tensors = [float32Tensor(`t${index}`, [2], Float32Array.of(index, 1))];
    const name = `m-0000${index + 1}-of-00003.gguf`;
    await writeFile(join(folder, name), ggufBytes(part, index === 0 ? [] : tensors));
  }
  return folder;
}

test('reads a model in parts, whichever is named', async () => {
  const folder = await splitModel();
  for (const part of [1, 3]) {
    const file = await GgufFile.open(join(folder, `m-0000${part}-of-00003.gguf`));
    expect(file.paths).toHaveLength(3);
    expect(await file.read('t2')).toEqual(Float32Array.of(2, 1));
    await file.close();
  }
});

test.each([
  [{ 1: { 'split.count': uint(4) } }, 'says that it is one of 4 files, and its name says 3'],
  [{ 2: { 'split.no': uint(1) } }, 'says that it is part 2, but its name says part 3'],
])('refuses parts of something else: %j', async (change, message) => {
  const path = join(await splitModel(change), 'm-00001-of-00003.gguf');
  await expect(GgufFile.open(path)).rejects.toThrow(message);
});

test('refuses a part without the others, and one of too many', async () => {
  const folder = await temporaryDirectory();
  const part = ggufBytes({ 'split.no': uint(0), 'split.count': uint(2) });
  await writeFile(join(folder, 'm-00001-of-00002.gguf'), part);
  const alone = GgufFile.open(join(folder, 'm-00001-of-00002.gguf'));
  await expect(alone).rejects.toThrow('m-00002-of-00002.gguf is missing: the model has 2 files');
  const many = GgufFile.open(join(folder, 'm-00001-of-99999.gguf'));
  await expect(many).rejects.toThrow('is one of 99999 files, and the limit is 1000');
});

test('a part renamed to a whole model', async () => {
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(path, ggufBytes({ 'split.no': uint(0), 'split.count': uint(2) }));
  await expect(GgufFile.open(path)).rejects.toThrow('named like name-00001-of-00003.gguf');
});

test('names', () => {
  expect(ggufModelName('Smol.Q4_1.gguf')).toBe('Smol.Q4_1');
  expect(ggufModelName('Smol-Q4_1-00002-of-00003.gguf')).toBe('Smol-Q4_1');
  expect(ggufParts('a.gguf')).toEqual(['a.gguf']);
  const names = ['a-F16.gguf', 'mmproj-a-Q8_0.gguf', 'a-Q8_0.gguf', 'a-q4_k_m.gguf'];
  expect(pickGguf(names, null)).toBe('a-q4_k_m.gguf');
  expect(pickGguf(names, 'Q8_0')).toBe('a-Q8_0.gguf');
  expect(pickGguf(names, 'Q8')).toBeNull();
  expect(pickGguf(['a-F16.gguf'], null)).toBe('a-F16.gguf');
  expect(pickGguf([], null)).toBeNull();
});

test('of the files that see, the one whose bits are the nearest', () => {
  const names = ['a-Q8_0.gguf', 'mmproj-a-f16.gguf', 'mmproj-a-Q8_0.gguf', 'mmproj-a-F32.gguf'];
  const pick = (model: string) => pickMmproj(names, model);
  expect(pick('a-Q8_0.gguf')).toBe('mmproj-a-Q8_0.gguf');
  expect(pick('a-Q4_K_M.gguf')).toBe('mmproj-a-Q8_0.gguf');
  expect(pick('a-f16.gguf')).toBe('mmproj-a-f16.gguf');
  expect(pick('a-BF16-00001-of-00002.gguf')).toBe('mmproj-a-f16.gguf');
  expect(pickMmproj(['b.mmproj.gguf', 'a.mmproj.gguf'], 'a.gguf')).toBe('a.mmproj.gguf');
  expect(pickMmproj(['x/mmproj.gguf', 'mmproj.txt', 'a.gguf'], 'a.gguf')).toBeNull();
});
