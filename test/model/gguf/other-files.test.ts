/** Files that strangers give for a model in GGUF: each is told what it is, and what helps. */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { inspectGguf } from '../../../src/model/gguf/gguf-checkpoint.ts';
import { ggufModelName, ggufModels, isGguf } from '../../../src/model/gguf/gguf-names.ts';
import { float32Tensor, ggufBytes, text, uint } from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const WEIGHTS = [float32Tensor('a.weight', [2, 2], new Float32Array(4))];
const of = (architecture: string) => ({ 'general.architecture': text(architecture) });

test.each([
  ['a LoRA adapter', { ...of('llama'), 'general.type': text('adapter') }, 'a LoRA adapter, not'],
  ['mmproj', { ...of('clip'), 'general.type': text('mmproj') }, 'named by --mmproj'],
  ['statistics', of('imatrix'), 'statistics for quantizing a model (imatrix), and no model'],
  ['an embedding model', of('nomic-bert'), 'an embedding model ("nomic-bert"): those are served'],
  ["Ollama's gpt-oss", of('gptoss'), 'a form that only Ollama has: take a file in'],
])('%s', async (_, metadata, message) => {
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(path, ggufBytes(metadata, WEIGHTS));
  await expect(inspectGguf(path)).rejects.toThrow(message);
});

test('a vocabulary alone', async () => {
  const path = join(await temporaryDirectory(), 'model.gguf');
  const sizes = ['block_count', 'embedding_length', 'attention.head_count', 'context_length'];
  const shape = Object.fromEntries(sizes.map((key) => [`llama.${key}`, uint(4)]));
  await writeFile(path, ggufBytes({ ...of('llama'), ...shape }));
  await expect(inspectGguf(path)).rejects.toThrow('has a vocabulary and no weights');
});

test('one of several files', async () => {
  const folder = await temporaryDirectory();
  const path = join(folder, 'm-00001-of-00003.gguf');
  const split = { 'split.count': uint(3), 'split.no': uint(0) };
  await writeFile(path, ggufBytes({ ...of('llama'), ...split }, WEIGHTS));
  await expect(inspectGguf(path)).rejects.toThrow(
    `${join(folder, 'm-00002-of-00003.gguf')} is missing: the model has 3 files, which must all be in one`,
  );
});

const BLOB = `sha256-${'0123456789abcdef'.repeat(4)}`;

test("a file of Ollama's, by the name that it has there", async () => {
  const folder = await temporaryDirectory();
  const bytes = await readFile('test/fixtures/gguf/stablelm.gguf');
  await writeFile(join(folder, BLOB), bytes);
  const model = await inspectModelFolder(join(folder, BLOB));
  expect(model.kind).toBe('gguf');
  expect(ggufModelName(BLOB)).toBe('sha256-0123456789ab');
  expect(isGguf(`${BLOB}0`)).toBe(false);
  // Not all files in that folder are models.
  expect(ggufModels([BLOB, 'x.gguf'])).toEqual(['x.gguf']);
});

test('a GGUF file by another name, and what is none', async () => {
  const folder = await temporaryDirectory();
  await writeFile(join(folder, 'model'), ggufBytes(of('llama'), WEIGHTS));
  await expect(inspectModelFolder(join(folder, 'model'))).rejects.toThrow(
    'is a GGUF file without .gguf at the end of its name: rename it',
  );
  // As mradermacher and TheBloke cut large ones.
  for (const name of ['m.Q8_0.gguf.part1of2', 'm.Q8_0.gguf-split-a']) {
    await writeFile(join(folder, name), ggufBytes(of('llama'), WEIGHTS));
    await expect(inspectModelFolder(join(folder, name))).rejects.toThrow(
      `${name} is a piece of a GGUF file that was cut: join all of them`,
    );
  }
  await writeFile(join(folder, 'other'), 'GG');
  await expect(inspectModelFolder(join(folder, 'other'))).rejects.toThrow('not a folder');
  await mkdir(join(folder, 'empty'));
  await expect(inspectModelFolder(join(folder, 'empty'))).rejects.toThrow('is an empty folder');
});
