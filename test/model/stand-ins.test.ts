/** Files that a clone without Git LFS, or a download that failed, left in place of a model's. */
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openEncoder } from '../../src/encoder/open-encoder.ts';
import { loadTextModel } from '../../src/front/prompts/load-text-model.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { FAMILY_FIXTURES } from '../support/families.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const POINTER = `version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 12345
`;
const PAGE = `\n<!DOCTYPE html>\n<html lang="en">${'<p>Sign in</p>'.repeat(100)}</html>`;

const IS_POINTER = 'is a Git LFS pointer, not the file itself: run `git lfs pull` in its folder';
const IS_PAGE = 'is an HTML page, not the file itself: download it again';
const IS_TEXT = 'is a text, not the file itself: "Entry not found"';

let numFolders = 0;
async function copyOf(folder: string): Promise<string> {
  const path = join(cache.path, `copy-${numFolders++}`);
  await cp(folder, path, { recursive: true });
  return path;
}

const build = (path: string) =>
  prepareModel({ kind: 'folder', path }, { precision: 'fp32', cacheDirectory: cache.path });

const encode = (path: string) =>
  openEncoder({ type: 'text', folder: path, precision: 'fp32', cacheDirectory: cache.path }, 1);

const open = (path: string) =>
  openEncoder({ type: 'graph', path: join(path, 'model.onnx'), isBatched: null }, 1);

const load = (folder: string) => loadTextModel({ folder, vocabSize: 4096 });

const llama = join(FAMILY_FIXTURES, 'llama');
const hub = 'test/exports/hub';
const bert = 'test/fixtures/encoders/bert';

describe.each([
  ['a pointer', POINTER, IS_POINTER],
  ['a page', PAGE, IS_PAGE],
  ['a text', 'Entry not found', IS_TEXT],
])('%s', (_, content, message) => {
  it.each([
    [llama, 'model.safetensors', build],
    [hub, join('onnx', 'model.onnx'), build],
    [hub, join('onnx', 'model.onnx_data'), build],
    ['test/fixtures/encoders/bert-reranker', 'model.safetensors', encode],
    [bert, join('onnx', 'model.onnx'), encode],
  ])('in %s as %s', async (model, name, use) => {
    const path = await copyOf(model);
    await writeFile(join(path, name), content);
    await expect(use(path)).rejects.toThrow(message);
    await expect(use(path)).rejects.toThrow(name);
  });

  it('as a GGUF file', async () => {
    const path = join(cache.path, `${numFolders++}.gguf`);
    await writeFile(path, content);
    await expect(build(path)).rejects.toThrow(`${path} ${message}`);
  });

  it('as a graph with tensors in and out', async () => {
    const path = await copyOf(bert);
    const file = join(path, 'model.onnx');
    await writeFile(file, content);
    await expect(open(path)).rejects.toThrow(`${file} ${message}`);
  });
});

it.each([
  ['a pointer', POINTER, IS_POINTER],
  ['a page', PAGE, IS_PAGE],
  ['what is neither', '{"model_type": ', 'is not valid JSON'],
])('%s as JSON', async (_, content, message) => {
  const path = await copyOf(llama);
  await writeFile(join(path, 'config.json'), content);
  await expect(build(path)).rejects.toThrow(`${join(path, 'config.json')} ${message}`);
  const texts = await copyOf('models/summit');
  const file = join(texts, 'tokenizer.json');
  await writeFile(file, content);
  const said = message.startsWith('is not') ? 'is damaged: SyntaxError' : message;
  await expect(load(texts)).rejects.toThrow(`${file} ${said}`);
  expect((await readFile(file)).length).toBe(Buffer.byteLength(content));
});
