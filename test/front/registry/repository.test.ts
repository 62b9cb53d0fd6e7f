import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { scanRepository } from '../../../src/front/registry/repository.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'repository-'));
});

afterEach(() => rm(folder, { recursive: true }));

async function put(path: string, content: unknown = {}): Promise<void> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
}

async function keys(): Promise<string[]> {
  const { definitions } = await scanRepository(folder);
  return definitions.map(({ name, version }) => `${name}@${version}`);
}

test('every folder with a model is one; others, files and hidden folders are not', async () => {
  await put('plain/config.json');
  await put('export/onnx/model.onnx', '');
  await put('tensors/model.onnx', '');
  await put('quantized/weights.gguf', '');
  await put('notes/readme.txt', '');
  await put('.hidden/config.json');
  await put('config.json');
  await mkdir(join(folder, 'target'));
  await put('elsewhere/config.json');
  await symlink(join(folder, 'elsewhere'), join(folder, 'link'));
  expect(await keys()).toEqual([
    'elsewhere@1',
    'export@1',
    'link@1',
    'plain@1',
    'quantized@1',
    'tensors@1',
  ]);
});

test("Triton's fields of batching belong to their model, and bad ones are its problem", async () => {
  await put('a/model.onnx', '');
  await put('a/chairlift.json', {
    max_batch_size: 8,
    dynamic_batching: { max_queue_delay_microseconds: 500 },
  });
  await put('b/model.onnx', '');
  await put('b/chairlift.json', { max_batch_size: -1 });
  const { definitions } = await scanRepository(folder);
  expect(definitions).toMatchObject([
    {
      problem: null,
      triton: {
        max_batch_size: 8,
        dynamic_batching: { max_queue_delay_microseconds: 500, preferred_batch_size: [] },
      },
    },
    { problem: expect.stringMatching(/^chairlift\.json: max_batch_size: /) },
  ]);
});

test('folders with numbers are versions, of which the newest is served', async () => {
  for (const version of ['2', '10', '9', '012', 'draft']) await put(`a/${version}/config.json`);
  expect(await keys()).toEqual(['a@10']);
});

test.each([
  ['all', ['a@10', 'a@9', 'a@2']],
  [{ latest: 2 }, ['a@10', 'a@9']],
  [{ specific: [2, '9'] }, ['a@9', 'a@2']],
])('the version policy %j picks %j', async (versionPolicy, expected) => {
  for (const version of ['2', '10', '9']) await put(`a/${version}/config.json`);
  await put('a/chairlift.json', { versionPolicy });
  expect(await keys()).toEqual(expected);
});

test('chairlift.json says what is served, and how', async () => {
  await put('remote/chairlift.json', {
    model: 'hf:owner/name',
    instances: 2,
    preload: true,
    keepAlive: '1h30m',
    aliases: ['chat'],
    flags: { precision: 'int8', 'max-num-seqs': 8 },
  });
  await put('chairlift.json', { aliases: { canary: { remote: 90, other: 10 } } });
  const { definitions, aliases, problems } = await scanRepository(folder);
  expect(definitions).toMatchObject([
    {
      name: 'remote',
      source: 'hf:owner/name',
      instances: 2,
      preload: true,
      keepAliveMs: 5_400_000,
      flags: { precision: 'int8', 'max-num-seqs': 8 },
      problem: null,
    },
  ]);
  expect([...aliases].map(([alias, targets]) => [alias, Object.fromEntries(targets)])).toEqual([
    ['canary', { remote: 90, other: 10 }],
    ['chat', { remote: 1 }],
  ]);
  expect(problems).toEqual([]);
});

test('a broken chairlift.json is the reason why its model is not served', async () => {
  await put('a/config.json');
  await put('a/chairlift.json', '{');
  await put('b/config.json');
  await put('b/chairlift.json', { instance: 2 });
  await put('c/config.json');
  await put('c/chairlift.json', { keepAlive: 'long' });
  const { definitions } = await scanRepository(folder);
  const problems = definitions.map(({ problem }) => problem);
  expect(problems[0]).toMatch(/^chairlift\.json is not JSON: /);
  expect(problems[1]).toBe('chairlift.json: there is no `instance`');
  expect(problems[2]).toBe(
    'chairlift.json: keepAlive: expected a duration such as "5m", or seconds',
  );
});

test('the fingerprint changes with the files of the version, and with nothing else', async () => {
  await put('a/1/config.json');
  await put('a/1/model.safetensors', 'weights');
  const at = new Date('2026-01-01');
  for (const file of ['config.json', 'model.safetensors'])
    await utimes(join(folder, 'a/1', file), at, at);
  const print = async () => (await scanRepository(folder)).definitions[0]?.fingerprint;
  const before = await print();
  await put('b/1/config.json');
  expect(await print()).toBe(before);
  await put('a/1/model.safetensors', 'weights of another size');
  expect(await print()).not.toBe(before);
});

test('a folder that is not there is an error', async () => {
  await expect(scanRepository(join(folder, 'missing'))).rejects.toThrow('ENOENT');
});
