import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ggufFileType } from '../../../src/model/gguf/file-type.ts';
import { GgufFile } from '../../../src/model/gguf/gguf-file.ts';
import { float32Tensor, ggufBytes, text, uint, type Value } from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** More weights in Q8_0, and more tensors in F32. */
const TENSORS = [
  { name: 'big', shape: [32, 32], type: 8, bytes: new Uint8Array(32 * 34) },
  ...['a', 'b'].map((name) => float32Tensor(name, [32], new Float32Array(32))),
];

async function typeOf(metadata: Readonly<Record<string, Value>>): Promise<string> {
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(path, ggufBytes({ 'general.architecture': text('llama'), ...metadata }, TENSORS));
  const file = await GgufFile.open(path);
  try {
    return ggufFileType(file);
  } finally {
    await file.close();
  }
}

test.each([
  [15, 'Q4_K_M'],
  [3, 'Q4_1'],
  [30, 'IQ4_XS'],
  [1024 + 18, 'Q6_K'],
  [999, 'Q8_0'],
])('general.file_type %i is %s', async (number, name) => {
  expect(await typeOf({ 'general.file_type': uint(number) })).toBe(name);
});

test('a file that does not say has the type of most weights', async () => {
  expect(await typeOf({})).toBe('Q8_0');
});
