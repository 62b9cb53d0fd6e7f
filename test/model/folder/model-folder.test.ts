import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { expect, test } from 'vitest';

import { ModelError } from '../../../src/model/model-error.ts';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const CONFIG = JSON.stringify(PRESETS.tiny);

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

test('finds what is in a Hugging Face folder', async () => {
  expect(await inspectModelFolder('models/foothill')).toMatchObject({
    kind: 'huggingface',
    path: resolve('models/foothill'),
    config: { hiddenSize: 128, numLayers: 3, tieWordEmbeddings: true, eosTokenIds: [2] },
    weightFiles: [resolve('models/foothill/model.safetensors')],
  });
});

test('takes shards, also beside an ONNX export', async () => {
  const index = {
    weight_map: { a: 'two.safetensors', b: 'one.safetensors', c: 'two.safetensors' },
  };
  const folder = await folderWith({
    'config.json': CONFIG,
    'model.safetensors.index.json': JSON.stringify(index),
    'onnx/model.onnx': '',
  });
  expect(await inspectModelFolder(folder)).toMatchObject({
    weightFiles: [join(folder, 'one.safetensors'), join(folder, 'two.safetensors')],
  });
});

test.each([
  ['an empty folder', {}, 'is an empty folder'],
  [
    'pickled weights',
    { 'config.json': CONFIG, 'pytorch_model.bin': '' },
    'has pickled weights (pytorch_model.bin), which are programs and are not run; this makes safetensors of them: python3 -c ',
  ],
  [
    'a configuration alone',
    { 'config.json': CONFIG, 'tokenizer.json': '' },
    'has a config.json but no model.safetensors; it holds config.json, tokenizer.json',
  ],
  ['no configuration', { 'model.safetensors': '' }, 'has safetensors weights but no config.json'],
  [
    'decoders by an older Optimum',
    { 'config.json': CONFIG, 'onnx/decoder_with_past_model_quantized.onnx': '' },
    'has an export by an older release of Optimum (onnx/decoder_with_past_model_quantized.onnx), which is not served; ' +
      'this makes a new one: optimum-cli export onnx ',
  ],
  [
    'parts of a model that sees',
    {
      'config.json': CONFIG,
      'onnx/decoder_model_merged_q4.onnx': '',
      'onnx/vision_encoder.onnx': '',
    },
    'has an ONNX export in several parts (onnx/decoder_model_merged_q4.onnx, onnx/vision_encoder.onnx), ' +
      'which is not served: take safetensors of the model',
  ],
  [
    'a graph by another name',
    { 'config.json': CONFIG, 'my.onnx': '' },
    'has no ONNX graph by a known name, such as model_q4.onnx, only my.onnx',
  ],
  [
    'a graph without a configuration',
    { 'model_q4.onnx': '' },
    'has ONNX graphs (model_q4.onnx), but no config.json beside them',
  ],
  [
    'many other files',
    Object.fromEntries('abcdefghij'.split('').map((name) => [`${name}.pth`, ''])),
    'holds no model, only a.pth, b.pth, c.pth, d.pth, e.pth, f.pth, g.pth, h.pth and 2 more',
  ],
])('refuses %s', async (_, files, found) => {
  const folder = await folderWith(files);
  const inspection = inspectModelFolder(folder);
  await expect(inspection).rejects.toThrow(ModelError);
  await expect(inspection).rejects.toThrow(`${folder} ${found}`);
  await expect(inspection).rejects.toThrow('; supported: a Hugging Face folder');
});

test('gives the command that converts pickled weights, wherever they are', async () => {
  const folder = join(await folderWith({}), "it's here");
  await mkdir(folder);
  for (const name of ['config.json', 'pytorch_model-00001-of-00002.bin']) {
    await writeFile(join(folder, name), name === 'config.json' ? CONFIG : '');
  }
  const error: unknown = await inspectModelFolder(folder).catch((reason: unknown) => reason);
  const command = /python3 (-c '[^']*' .*); supported/.exec(String(error))?.[1] ?? '';
  // As a shell takes it apart.
  const script = `for word in ${command}; do printf '%s\\n' "$word"; done`;
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trimEnd().split('\n');
  expect(words).toEqual(['-c', expect.stringContaining('save_pretrained(p)'), folder]);
});

test('tells the precisions of an export on the hub by the names of its graphs', async () => {
  const path = resolve('test/exports/hub');
  expect(await inspectModelFolder(path)).toMatchObject({
    kind: 'export',
    config: { family: 'qwen3', vocabSize: 288, maxPositionEmbeddings: 128, headDim: 16 },
    variants: [
      { file: join(path, 'onnx/model.onnx'), precision: 'fp32', activationDtype: 'float32' },
      { file: join(path, 'onnx/model_q4.onnx'), precision: 'int4', activationDtype: 'float32' },
    ],
  });
});

test('finds an export by the GenAI model builder', async () => {
  const path = resolve('test/exports/genai');
  expect(await inspectModelFolder(path)).toMatchObject({
    kind: 'export',
    config: { family: 'gemma2', vocabSize: 288, maxPositionEmbeddings: 128, attentionSoftcap: 5 },
    variants: [{ file: join(path, 'model.onnx'), precision: 'fp32' }],
  });
});

test('takes the export where the family of the weights is unknown', async () => {
  const folder = await folderWith({
    'config.json': CONFIG.replace('"llama"', '"new"'),
    'model.safetensors': '',
    'onnx/model_q4f16.onnx': '',
    'onnx/model_int8.onnx': '',
    'onnx/model_quantized.onnx': '',
    'onnx/decoder_model.onnx': '',
  });
  expect(await inspectModelFolder(folder)).toMatchObject({
    kind: 'export',
    variants: [
      { file: join(folder, 'onnx/model_quantized.onnx'), precision: 'int8' },
      { file: join(folder, 'onnx/model_q4f16.onnx'), precision: 'int4' },
    ],
  });
});

test('refuses a GenAI folder that is not a decoder', async () => {
  const folder = await folderWith({ 'genai_config.json': '{"model": {"type": "whisper"}}' });
  await expect(inspectModelFolder(folder)).rejects.toThrow(/genai_config\.json: .*decoder/s);
});

test('refuses a path that is no folder', async () => {
  const folder = await folderWith({ 'model.pth': '' });
  const missing = inspectModelFolder(join(folder, 'nowhere'));
  await expect(missing).rejects.toThrow(/nowhere cannot be read: no such file or folder$/);
  const file = inspectModelFolder(join(folder, 'model.pth'));
  await expect(file).rejects.toThrow(/model\.pth is a file, not a folder; supported: /);
});

test('a configuration that is not JSON is named', async () => {
  const folder = await folderWith({ 'config.json': '{', 'model.safetensors': '' });
  await expect(inspectModelFolder(folder)).rejects.toThrow(
    `${join(folder, 'config.json')} is not valid JSON`,
  );
});

test('takes the only GGUF model of a folder, and asks which of several', async () => {
  const folder = await folderWith({
    'mmproj-model.gguf': '',
    'model-00001-of-00002.gguf': '',
    'model-00002-of-00002.gguf': '',
  });
  await expect(inspectModelFolder(folder)).rejects.toThrow(
    'model-00001-of-00002.gguf is truncated or damaged',
  );
  const several = await folderWith({ 'a.Q4_0.gguf': '', 'a.Q8_0.gguf': '' });
  await expect(inspectModelFolder(several)).rejects.toThrow(
    `${several} has several GGUF models; name one of a.Q4_0.gguf, a.Q8_0.gguf`,
  );
});

test('says what to name in place of a graph, its folder, and a folder of exports', async () => {
  const folder = await folderWith({
    'hub/config.json': CONFIG,
    'hub/onnx/model_q4.onnx': '',
    'genai/npu/genai_config.json': '{}',
    'genai/npu/model.onnx': '',
    'alone/model.onnx': '',
  });
  const refuses = (path: string, why: string) =>
    expect(inspectModelFolder(join(folder, path))).rejects.toThrow(why);
  await refuses(
    'hub/onnx/model_q4.onnx',
    `is a graph of an ONNX export: name ${join(folder, 'hub')} instead; --precision says which`,
  );
  await refuses('alone/model.onnx', 'name the folder with its config.json or genai_config');
  await refuses('hub/onnx', `ONNX export only: name ${join(folder, 'hub')} instead`);
  await refuses(
    'genai',
    `has ONNX exports in folders below it: name one of ${join(folder, 'genai/npu')}`,
  );
});
