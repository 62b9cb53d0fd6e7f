import { appendFile, readFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { pullModel, type PullOptions } from '../../../src/model/download/remote-model.ts';
import type { PickVariant } from '../../../src/model/export/export-folder.ts';
import { hubRemote } from '../../../src/model/hub/hub-remote.ts';
import {
  type HubAccess,
  hubAccess,
  type HubReference,
  parseHubReference,
} from '../../../src/model/hub/hub-repository.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { FakeHub } from '../../support/fake-hub.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const WEIGHTS = Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 251));
const FILES = {
  'README.md': 'not needed',
  'config.json': JSON.stringify(PRESETS.tiny),
  'tokenizer.json': '{}',
  'chat_template.jinja': '{{ messages }}',
  'preprocessor_config.json': '{}',
  'processor_config.json': '{}',
  'model.safetensors': WEIGHTS,
  'pytorch_model.bin': 'not needed',
};
const REFERENCE = parseHubReference('hf:owner/name');

function pullHubModel(
  reference: HubReference,
  { access, ...options }: PullOptions & { readonly access: HubAccess },
): Promise<string> {
  return pullModel(hubRemote(reference, access), options);
}

async function hubWith(files: Readonly<Record<string, string | Buffer>> = FILES) {
  const hub = await FakeHub.start(files);
  onTestFinished(() => hub.stop());
  const cacheDirectory = await temporaryDirectory();
  const access = { endpoint: hub.endpoint, token: null };
  const pickVariant: PickVariant = async ({ variants }) => variants.at(-1) ?? { file: '' };
  const options = { access, cacheDirectory, pickVariant, retryMs: 1 };
  return { hub, options, pull: (more = {}) => pullHubModel(REFERENCE, { ...options, ...more }) };
}

test('downloads what a decoder needs, once', async () => {
  const { hub, pull } = await hubWith();
  const progress: [number, number][] = [];
  const folder = await pull({ onProgress: (...args: [number, number]) => progress.push(args) });
  const wanted = [
    'chat_template.jinja',
    'config.json',
    'model.safetensors',
    'preprocessor_config.json',
    'processor_config.json',
    'tokenizer.json',
  ];
  expect((await readdir(folder)).sort()).toEqual(wanted);
  expect(await readFile(join(folder, 'model.safetensors'))).toEqual(WEIGHTS);
  const [done, total] = progress.at(-1) ?? [];
  expect(done).toBe(total);
  expect(progress.map(([bytes]) => bytes)).toEqual(
    progress.map(([bytes]) => bytes).sort((a, b) => a - b),
  );

  const { length } = hub.downloads;
  expect(await pull()).toBe(folder);
  expect(hub.downloads).toHaveLength(length);
});

test('takes shards where there is no single file', async () => {
  const names = ['part-a.safetensors', 'part-b.safetensors'];
  const { pull } = await hubWith({
    'config.json': FILES['config.json'],
    'model.safetensors.index.json': JSON.stringify({ weight_map: { a: names[0], b: names[1] } }),
    'consolidated.safetensors': 'not needed',
    ...Object.fromEntries(names.map((name) => [name, WEIGHTS])),
  });
  expect((await readdir(await pull())).sort()).toEqual([
    'config.json',
    'model.safetensors.index.json',
    ...names,
  ]);
});

test('says which shard the hub lacks', async () => {
  const { pull } = await hubWith({
    'config.json': FILES['config.json'],
    'model.safetensors.index.json': JSON.stringify({ weight_map: { a: 'part-a.safetensors' } }),
  });
  await expect(pull()).rejects.toThrow(
    'owner/name has no part-a.safetensors, which its index names',
  );
});

test('says that a tokenizer is of another form before weights are downloaded', async () => {
  const { 'tokenizer.json': _, ...others } = FILES;
  const { hub, pull } = await hubWith({ ...others, 'tekken.json': '{}' });
  await expect(pull()).rejects.toThrow(/tekken\.json or a file beside it is damaged/);
  expect(hub.downloads.join()).not.toContain('safetensors');
});

test('takes the files of which a tokenizer is made where there is no tokenizer.json', async () => {
  const words = { 'vocab.json': '{"a":0,"b":1,"ab":2}', 'merges.txt': 'a b\n' };
  const config = { 'tokenizer_config.json': '{"tokenizer_class":"GPT2Tokenizer"}' };
  const { 'tokenizer.json': _, ...others } = FILES;
  const { pull } = await hubWith({ ...others, ...words, ...config });
  const names = await readdir(await pull());
  expect(names).toEqual(expect.arrayContaining(Object.keys(words)));
  const { hub, pull: pullWhole } = await hubWith({ ...FILES, ...words });
  await pullWhole();
  expect(hub.downloads).not.toContain('vocab.json');
});

const EXPORT = {
  'onnx/model.onnx': 'graph',
  'onnx/model.onnx_data': WEIGHTS,
  'onnx/model_q4.onnx': 'graph',
  'onnx/model_q4.onnx_data': WEIGHTS,
  'onnx/model_q4.onnx_data_1': WEIGHTS,
};

test('takes one graph of an export, with its weights', async () => {
  const { 'model.safetensors': _, ...files } = FILES;
  const { hub, pull } = await hubWith({ ...files, ...EXPORT });
  const folder = await pull();
  expect((await readdir(join(folder, 'onnx'))).sort()).toEqual([
    'model_q4.onnx',
    'model_q4.onnx_data',
    'model_q4.onnx_data_1',
  ]);
  expect(hub.downloads).not.toContain('README.md');
});

test('takes an export of weights of which no graph can be built, and no other one', async () => {
  const { pull } = await hubWith({ ...FILES, ...EXPORT });
  expect(await readdir(await pull())).not.toContain('onnx');
  const config = FILES['config.json'].replace('"llama"', '"new"');
  const other = await hubWith({ ...FILES, ...EXPORT, 'config.json': config });
  const names = await readdir(await other.pull());
  expect(names).toContain('onnx');
  expect(names).not.toContain('model.safetensors');
});

test('takes the graph that a GenAI configuration names', async () => {
  const inputs = { input_ids: 'input_ids' };
  const decoder = { filename: 'decoder.onnx', inputs, outputs: { logits: 'logits' } };
  const model = { type: 'phi3', vocab_size: 10, context_length: 10, decoder };
  const { pull } = await hubWith({
    'genai_config.json': JSON.stringify({ model }),
    'decoder.onnx': 'graph',
    'decoder.onnx.data': WEIGHTS,
    'other.onnx': 'not needed',
  });
  expect((await readdir(await pull())).sort()).toEqual([
    'decoder.onnx',
    'decoder.onnx.data',
    'genai_config.json',
  ]);
});

test('goes on where a connection broke', async () => {
  const { hub, pull } = await hubWith();
  hub.cutAfter = 2000;
  const folder = await pull();
  expect(await readFile(join(folder, 'model.safetensors'))).toEqual(WEIGHTS);
  expect(hub.downloads.filter((name) => name.includes('bytes='))).toEqual([
    'model.safetensors bytes=2000-',
    'model.safetensors bytes=4000-',
  ]);
});

test('begins again where a server knows no ranges', async () => {
  const { hub, pull } = await hubWith();
  hub.knowsRanges = false;
  hub.cutAfter = 2000;
  const folder = pull({ retryMs: 50, onProgress: () => (hub.cutAfter = hub.cutAfter + 1000) });
  expect(await readFile(join(await folder, 'model.safetensors'))).toEqual(WEIGHTS);
});

test('gives up on a connection that keeps breaking, and goes on the next time', async () => {
  const { hub, options, pull } = await hubWith();
  hub.cutAfter = 0;
  await expect(pull()).rejects.toThrow(
    /^.* could not be downloaded .* the connection broke 5 times/,
  );
  hub.cutAfter = 3000;
  const folder = await pullHubModel(REFERENCE, options);
  expect(await readFile(join(folder, 'model.safetensors'))).toEqual(WEIGHTS);
});

test('does not keep what is damaged', async () => {
  const { hub, options, pull } = await hubWith();
  hub.hashesAreWrong = true;
  await expect(pull()).rejects.toThrow('model.safetensors from ');
  const folder = join(options.cacheDirectory, 'hub', 'owner--name');
  const names = (await readdir(folder, { recursive: true })).join(' ');
  expect(names).not.toContain('model.safetensors');
  hub.hashesAreWrong = false;
  await pull();
});

test('tells an unsupported model before its weights are downloaded', async () => {
  const config = JSON.stringify({ ...PRESETS.tiny, model_type: 'mamba' });
  const { hub, pull } = await hubWith({ ...FILES, 'config.json': config });
  await expect(pull()).rejects.toThrow('owner/name: model type "mamba" is not supported');
  expect(hub.downloads.join()).not.toContain('safetensors');
});

test('tells a model without safetensors', async () => {
  const { pull } = await hubWith({ 'config.json': '{}', 'model.pth': 'x' });
  await expect(pull()).rejects.toThrow(
    'owner/name has no config.json with safetensors weights, no ONNX export and no GGUF file, ' +
      'only config.json, model.pth',
  );
});

test('tells exports that are not served', async () => {
  const old = await hubWith({ 'config.json': '{}', 'onnx/decoder_model.onnx': 'x' });
  await expect(old.pull()).rejects.toThrow('owner/name has an export by an older release of Opt');
});

test('sends the token, and says when one is missing or not enough', async () => {
  const { hub, options, pull } = await hubWith();
  hub.status = 401;
  await expect(pull()).rejects.toThrow('private or gated: give --hf-token, or set HF_TOKEN');
  const access = hubAccess({ HF_ENDPOINT: `${hub.endpoint}/`, HF_TOKEN: 'secret' });
  hub.status = 403;
  await expect(pull({ access })).rejects.toThrow('the token may not read it');
  hub.status = 200;
  await pullHubModel(REFERENCE, { ...options, access });
  expect(hub.tokens).toEqual(new Set([undefined, 'Bearer secret']));
});

const GGUF_FILES = {
  'README.md': 'not needed',
  'model-Q2_K.gguf': 'two',
  'model-Q4_K_M.gguf': 'four',
  'mmproj-Q8_0.gguf': 'eyes',
  'big/model-Q8_0-00001-of-00002.gguf': 'eight',
  'big/model-Q8_0-00002-of-00002.gguf': 'more',
};

test.each([
  ['hf:owner/name', 'model-Q4_K_M.gguf', 'model-Q4_K_M.gguf'],
  ['hf:owner/name:q2_k', 'model-Q2_K.gguf', 'model-Q2_K.gguf'],
  ['hf:owner/name:model-Q2_K.gguf@main', 'model-Q2_K.gguf', 'model-Q2_K.gguf'],
  [
    'hf:owner/name:Q8_0',
    'big/model-Q8_0-00001-of-00002.gguf',
    'big/model-Q8_0-00001-of-00002.gguf big/model-Q8_0-00002-of-00002.gguf',
  ],
])('of GGUF files %s means %s, offline too', async (model, file, downloads) => {
  const { hub, options } = await hubWith(GGUF_FILES);
  const reference = parseHubReference(model);
  const path = await pullHubModel(reference, options);
  expect(path.endsWith(`/${file}`)).toBe(true);
  expect(hub.downloads.join(' ')).toBe(downloads);
  hub.stop();
  expect(await pullHubModel(reference, options)).toBe(path);
});

test('a GGUF model that has places for images comes with the file that sees', async () => {
  const { hub, options } = await hubWith({ ...GGUF_FILES, 'mmproj-f16.gguf': 'more eyes' });
  const reference = parseHubReference('hf:owner/name');
  const asked: string[] = [];
  const wantsMmproj = async (path: string) => asked.push(path) > 1;
  const path = await pullHubModel(reference, { ...options, wantsMmproj });
  expect(asked).toEqual([path]);
  expect(hub.downloads).toEqual(['model-Q4_K_M.gguf']);
  expect(await pullHubModel(reference, { ...options, wantsMmproj })).toBe(path);
  expect(hub.downloads).toEqual(['model-Q4_K_M.gguf', 'mmproj-Q8_0.gguf']);
  await pullHubModel(parseHubReference('hf:owner/name:Q8_0'), { ...options, wantsMmproj });
  // In a folder of its own none is beside it.
  expect(hub.downloads.join()).not.toContain('f16');
});

test('a GGUF file next to safetensors is taken if it is asked for', async () => {
  const { options, pull } = await hubWith({ ...FILES, 'model-Q8_0.gguf': 'eight' });
  expect(await readdir(await pull())).not.toContain('model-Q8_0.gguf');
  const path = await pullHubModel(parseHubReference('hf:owner/name:Q8_0'), options);
  expect(path).toMatch(/model-Q8_0\.gguf$/);
});

test('says which GGUF files there are', async () => {
  const { options } = await hubWith(GGUF_FILES);
  await expect(pullHubModel(parseHubReference('hf:owner/name:Q6_K'), options)).rejects.toThrow(
    'owner/name has no GGUF file for "Q6_K" (it has model-Q2_K.gguf, model-Q4_K_M.gguf, big/model-Q8_0-00001-of-00002.gguf)',
  );
});

test('says that a revision is not there', async () => {
  const { options } = await hubWith();
  const reference = parseHubReference('hf:owner/name@v2');
  await expect(pullHubModel(reference, options)).rejects.toThrow('has no owner/name@v2');
});

test('without the hub takes what was downloaded, and says so', async () => {
  const { hub, pull } = await hubWith();
  hub.stop();
  await expect(pull()).rejects.toThrow('cannot be reached for owner/name');
  const online = await hubWith();
  const folder = await online.pull();
  online.hub.stop();
  const reasons: string[] = [];
  expect(await online.pull({ onOffline: (reason: string) => reasons.push(reason) })).toBe(folder);
  expect(reasons).toEqual([`${online.options.access.endpoint} cannot be reached`]);
});

test('is downloaded once, however many want it at the same time', async () => {
  const { hub, pull } = await hubWith();
  const folders = new Set(await Promise.all([pull(), pull(), pull()]));
  const [folder = ''] = folders;
  expect(folders.size).toBe(1);
  expect(await readFile(join(folder, 'model.safetensors'))).toEqual(WEIGHTS);
  expect(hub.downloads.toSorted()).toEqual((await readdir(folder)).toSorted());
});

test('a file that two processes wrote to is downloaded anew', async () => {
  const { hub, options, pull } = await hubWith();
  const folder = await pull();
  const file = join(folder, 'model.safetensors');
  await rm(file);
  await appendFile(`${file}.partial`, Buffer.alloc(6000));
  await pullHubModel(REFERENCE, options);
  expect((await stat(file)).size).toBe(5000);
  expect(hub.downloads.filter((name) => name.includes('safetensors'))).toHaveLength(2);
});

test.each(['hf:name', 'hf:../x', 'hf:owner/name/more', 'hf:owner/name@', 'hf:owner/..'])(
  'refuses %s',
  (model) => {
    expect(() => parseHubReference(model)).toThrow(
      'expected hf:owner/name[:file or folder][@revision]',
    );
  },
);
