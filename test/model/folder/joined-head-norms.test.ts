/** Norms whose heads have weights of their own, as checkpoints have them: vectors, or a matrix. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { SafetensorsWeights } from '../../../src/model/huggingface/safetensors.ts';
import { FAMILY_FIXTURES } from '../../support/families.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const [HEADS, HEAD_DIM] = [4, 16];

async function open(path: string) {
  const folder = await inspectModelFolder(path);
  if (folder.kind !== 'huggingface') throw new TypeError('a folder of safetensors');
  const plain = await SafetensorsWeights.open([join(path, 'model.safetensors')]);
  return { weights: await folder.open(), plain };
}

test('vectors of heads are one vector, in order', async () => {
  const { weights, plain } = await open(join(FAMILY_FIXTURES, 'stablelm-12b'));
  const name = 'model.layers.1.self_attn.q_layernorm.norms';
  const joined = await weights.get(`${name}.*.weight`, [HEADS * HEAD_DIM]);
  for (let head = 0; head < HEADS; head++) {
    const own = await plain.get(`${name}.${head}.weight`, [HEAD_DIM]);
    expect(joined.subarray(head * HEAD_DIM, (head + 1) * HEAD_DIM)).toEqual(own);
  }
  await Promise.all([weights.close(), plain.close()]);
});

test('a matrix is a vector, head by head', async () => {
  const { weights, plain } = await open(join(FAMILY_FIXTURES, 'command-r-plus'));
  const name = 'model.layers.1.self_attn.q_norm.weight';
  const joined = await weights.get(name, [HEADS * HEAD_DIM]);
  expect(joined).toEqual(await plain.get(name, [HEADS, HEAD_DIM]));
  await Promise.all([weights.close(), plain.close()]);
});

test('a head whose weights are missing is named', async () => {
  const path = join(await temporaryDirectory(), 'model');
  await cp(join(FAMILY_FIXTURES, 'stablelm-12b'), path, { recursive: true });
  const file = join(path, 'model.safetensors');
  const bytes = await readFile(file);
  const name = 'model.layers.1.self_attn.k_layernorm.norms.1.weight';
  bytes.write(name.replace('norms.1', 'norms.9'), bytes.indexOf(name));
  await writeFile(file, bytes);
  const { weights, plain } = await open(path);
  const joined = weights.get(name.replace('norms.1', 'norms.*'), [2 * HEAD_DIM]);
  await expect(joined).rejects.toThrow(`tensor "${name}" is missing`);
  await Promise.all([weights.close(), plain.close()]);
});
