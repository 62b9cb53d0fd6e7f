/** Adapters of the command line and of requests: where they may come from. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { openAdapters } from '../../src/cli/lora.ts';
import { chooseModel } from '../../src/cli/model-source.ts';
import { inspectModelFolder } from '../../src/model/huggingface/model-folder.ts';
import { FakeHub } from '../support/fake-hub.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const LLAMA = 'test/fixtures/families/llama';
const ADAPTERS = 'test/fixtures/adapters';
const NAMES = ['adapter_config.json', 'adapter_model.safetensors'];

afterEach(() => vi.unstubAllEnvs());

async function startHub(): Promise<FakeHub> {
  const contents = NAMES.map((name) => readFile(join(ADAPTERS, 'llama-all', name)));
  const [config = '', weights = ''] = await Promise.all(contents);
  const hub = await FakeHub.start({ [NAMES[0] ?? '']: config, [NAMES[1] ?? '']: weights });
  onTestFinished(() => hub.stop());
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
  vi.stubEnv('CHAIRLIFT_CACHE', await temporaryDirectory());
  return hub;
}

async function open(loraModules: Readonly<Record<string, string>>, loraDir?: string) {
  const folder = await inspectModelFolder(LLAMA);
  if (folder.kind === 'export') throw new Error('not a folder');
  const options = { loraModules, loraDir, maxLoras: 4, maxLoraRank: 8, maxCpuLoras: undefined };
  return openAdapters(options, 'base', folder.config, 'onnxruntime');
}

test('an adapter of the command line may be on the hub: the same as in a folder', async () => {
  await startHub();
  const adapters = await open({ here: join(ADAPTERS, 'llama-all'), there: 'hf:owner/name' });
  const [here, there] = adapters.list();
  expect(there).toMatchObject({ name: 'there', path: 'hf:owner/name' });
  expect(there?.engine).toEqual(here?.engine);
});

test('so may one that is merged', async () => {
  await startHub();
  const options = { model: LLAMA, randomWeights: undefined, adapter: 'hf:owner/name' };
  const { source } = await chooseModel(options, async () => null);
  const adapter = source.kind === 'folder' ? (source.adapter ?? '') : '';
  for (const name of NAMES) {
    const expected = await readFile(join(ADAPTERS, 'llama-all', name));
    expect(await readFile(join(adapter, name))).toEqual(expected);
  }
});

test('an adapter of a request is in the folder for them, and nowhere else', async () => {
  const hub = await startHub();
  const adapters = await open({}, ADAPTERS);
  for (const path of ['hf:owner/name', 'hf:owner/name@main', 'HF:owner/name', 'hf:../llama-all']) {
    await expect(adapters.load('evil', path), path).rejects.toThrow(/--lora-dir only|refused/);
  }
  expect(hub.requests).toEqual([]);
  await adapters.load('good', 'llama-all');
  expect(adapters.list()).toHaveLength(1);
});
