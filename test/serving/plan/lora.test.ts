/** Adapters of the command line and of requests: where they may come from. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { openAdapters, warnOfMissing } from '../../../src/serving/plan/lora.ts';
import { chooseModel } from '../../../src/serving/models/model-source.ts';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { FakeHub } from '../../support/fake-hub.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

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

test('a folder for adapters that is not there is a warning', async () => {
  const lines: { level: number; msg: string }[] = [];
  const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  await warnOfMissing({ loraDir: ADAPTERS }, logger);
  await warnOfMissing({ loraDir: undefined }, logger);
  expect(lines).toEqual([]);
  await warnOfMissing({ loraDir: '/nope' }, logger);
  await warnOfMissing({ loraDir: 'package.json' }, logger);
  expect(lines.map(({ msg }) => msg)).toEqual([
    '--lora-dir /nope: there is no such folder, so no adapter can be loaded',
    '--lora-dir package.json: it is not a folder, so no adapter can be loaded',
  ]);
});
