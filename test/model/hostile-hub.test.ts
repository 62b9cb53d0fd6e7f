import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ModelError } from '../../src/model/model-error.ts';
import { pullModel } from '../../src/model/download/remote-model.ts';
import type { PickVariant } from '../../src/model/export/export-folder.ts';
import { hubRemote } from '../../src/model/hub/hub-remote.ts';
import { hubAccess, parseHubReference } from '../../src/model/hub/hub-repository.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { FakeHub } from '../support/fake-hub.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const CONFIG = { 'config.json': JSON.stringify(PRESETS.tiny) };

/** A hub, and a cache with folders around it, of which all that is written must lie in the cache. */
async function attack(files: Readonly<Record<string, string | Buffer>>) {
  const hub = await FakeHub.start(files);
  onTestFinished(() => hub.stop());
  const around = await temporaryDirectory();
  const cacheDirectory = join(around, 'a', 'cache');
  await mkdir(cacheDirectory, { recursive: true });
  const pickVariant: PickVariant = async ({ variants }) => variants[0] ?? { file: '' };
  const access = { endpoint: hub.endpoint, token: null };
  const pull = (reference = 'hf:owner/name') =>
    pullModel(hubRemote(parseHubReference(reference), access), {
      cacheDirectory,
      pickVariant,
      retryMs: 1,
    });
  const written = async () =>
    (await readdir(around, { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name))
      // It keeps other processes from downloading the same model at the same time.
      .filter((path) => path !== join(cacheDirectory, 'hub', 'owner--name', 'lock'));
  return { hub, pull, written, home: join(cacheDirectory, 'hub', 'owner--name') };
}

const genai = (filename: string) =>
  JSON.stringify({
    model: {
      type: 'llama',
      vocab_size: 10,
      context_length: 10,
      decoder: { filename, inputs: {}, outputs: {} },
    },
  });

test.each(['../../../../escaped', '/escaped', 'onnx/../../../../../escaped', 'C:\\escaped'])(
  'an export in %s is not downloaded',
  async (folder) => {
    const name = `${folder}/model.onnx`;
    const { hub, pull, written, home } = await attack({ ...CONFIG, [name]: 'graph' });
    // Exports are looked for in two folders, and this is neither.
    await expect(pull()).rejects.toThrow(`has no ONNX graph by a known name`);
    expect(await written()).toEqual([join(home, hub.commit, 'config.json')]);
    expect(hub.downloads).toEqual(['config.json']);
  },
);

test('names of files reach no terminal as they are', async () => {
  const graphs = await attack({ ...CONFIG, 'a\u001b[2J/model.onnx': 'graph' });
  await expect(graphs.pull()).rejects.toThrow('only a\\u001b[2J/model.onnx');
  const others = await attack({ 'b\u001b[2J.txt': 'text' });
  await expect(others.pull()).rejects.toThrow('only b\\u001b[2J.txt');
});

test('weights beside a graph that lead out of it are not downloaded, nor the graph', async () => {
  const { hub, pull, written } = await attack({
    'genai_config.json': genai('model.onnx'),
    'model.onnx': 'graph',
    'model.onnx/../../../../../escaped/model.onnx': 'graph',
  });
  // It is none of the graph's parts, by its name.
  await pull();
  expect((await written()).filter((path) => path.includes('escaped'))).toEqual([]);
  expect(hub.downloads).toEqual(['genai_config.json', 'model.onnx']);
});

test.each(['../../../../escaped.onnx', '/tmp/escaped.onnx', '..\\escaped.onnx'])(
  'a genai_config.json that names %s is refused',
  async (name) => {
    const { pull, written } = await attack({ 'genai_config.json': genai(name), [name]: 'graph' });
    await expect(pull()).rejects.toThrow(`names ${JSON.stringify(name)}`);
    expect((await written()).map((path) => path.split('/').at(-1))).toEqual(['genai_config.json']);
  },
);

test.each([
  '../../../../escaped',
  'cpu/../../../../escaped',
  '/escaped',
  'C:\\\\escaped',
  'aux',
  'a\u001b[2J',
])('an export of the folder %j is not downloaded, whether it is named or not', async (folder) => {
  const files = {
    [`${folder}/genai_config.json`]: genai('model.onnx'),
    [`${folder}/model.onnx`]: 'graph',
  };
  const { hub, pull, written } = await attack({ 'README.md': '', ...files });
  await expect(pull()).rejects.toThrow(/which is refused|has models in folders|no config.json/);
  const named = await (async () => pull(`hf:owner/name:${folder}/`))().catch(
    (error: unknown) => error,
  );
  expect((named as Error).message).toMatch(/which is refused|no model in a folder|is no model on/);
  // eslint-disable-next-line no-control-regex
  expect((named as Error).message).not.toMatch(/\u001b/);
  expect(await written()).toEqual([]);
  expect(hub.downloads).toEqual([]);
});

test('a file that leads out of a named folder is not downloaded, nor what its configuration names', async () => {
  const files = { 'cpu/genai_config.json': genai('../../../../../escaped.onnx') };
  const first = await attack({ ...files, 'cpu/../../../../../escaped.onnx': 'graph' });
  await expect(first.pull('hf:owner/name:cpu/')).rejects.toThrow('which is refused');
  const second = await attack({
    'cpu/genai_config.json': genai('../model.onnx'),
    'model.onnx': 'x',
  });
  await second.pull('hf:owner/name:cpu/');
  expect(second.hub.downloads).toEqual(['cpu/genai_config.json']);
});

test.each(['../../../../../escaped.safetensors', '/escaped.safetensors', 'a/../../x.safetensors'])(
  'an index that names %s is refused',
  async (name) => {
    const { pull, written } = await attack({
      ...CONFIG,
      'model.safetensors.index.json': JSON.stringify({ weight_map: { a: name } }),
      [name]: 'weights',
    });
    await expect(pull()).rejects.toThrow(`names ${JSON.stringify(name)}`);
    expect(await written()).toHaveLength(2);
  },
);

test.each(['../../../escaped', '0123abc', 'main', ''])(
  'a commit called %j is refused',
  async (commit) => {
    const { hub, pull, written } = await attack({ ...CONFIG, 'model.safetensors': 'weights' });
    hub.commit = commit;
    await expect(pull()).rejects.toThrow('did not answer like a model hub');
    expect(await written()).toEqual([]);
  },
);

test('what is no commit in the cache is not followed when the hub is away', async () => {
  const { hub, pull, home } = await attack(CONFIG);
  await mkdir(join(home, 'revisions'), { recursive: true });
  await writeFile(join(home, 'revisions', 'main'), '../../../../etc');
  hub.stop();
  await expect(pull()).rejects.toThrow('cannot be reached for owner/name');
});

test('a file that is longer than was said is cut off', async () => {
  const weights = Buffer.alloc(2 ** 20);
  const { hub, pull, written, home } = await attack({ ...CONFIG, 'model.safetensors': weights });
  hub.statedSizes.set('model.safetensors', 1000);
  await expect(pull()).rejects.toThrow('model.safetensors is longer than was stated');
  expect(await written()).not.toContain(join(home, hub.commit, 'model.safetensors'));
});

test('a model that the disk has no room for is told before it is downloaded', async () => {
  const { hub, pull } = await attack({ ...CONFIG, 'model.safetensors': 'weights' });
  hub.statedSizes.set('model.safetensors', 2 ** 52);
  await expect(pull()).rejects.toThrow(
    /^owner\/name needs 4194304.0 GiB more, and .* has room for/,
  );
  expect(hub.downloads).toEqual(['config.json']);
});

test('a text file as large as weights is not downloaded', async () => {
  const { hub, pull } = await attack({ ...CONFIG, 'tokenizer.json': '{}' });
  hub.statedSizes.set('tokenizer.json', 2 ** 30);
  await expect(pull()).rejects.toThrow('tokenizer.json of owner/name has 1073741824 bytes');
  expect(hub.downloads).toEqual([]);
});

test.each(['hf:owner/name@..', 'hf:owner/name@.', 'hf:own--er/name'])(
  'the reference %s is refused',
  (reference) => {
    expect(() => parseHubReference(reference)).toThrow(ModelError);
  },
);

test.each(['hub', 'file:///etc', 'https://'])('HF_ENDPOINT=%s is refused', (endpoint) => {
  expect(() => hubAccess({ HF_ENDPOINT: endpoint })).toThrow('HF_ENDPOINT is ');
});
