/** Adapters of the command line and of requests: where they may come from. */
import { cp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { CPU_DEVICE } from '../../../src/engine/gpu/device-options.ts';
import type { AdapterShelf } from '../../../src/front/adapters/adapter-shelf.ts';
import {
  openAdapters,
  servedLora,
  takesLora,
  warnOfMissing,
} from '../../../src/serving/plan/lora.ts';
import { chooseModel } from '../../../src/serving/models/model-source.ts';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { FakeHub } from '../../support/fake-hub.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const LLAMA = 'test/fixtures/families/llama';
const ADAPTERS = 'test/fixtures/adapters';
const ONE = { names: new Set(['base']), aliases: ['other'], only: 'base' };
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

const SILENT = pino({ level: 'silent' });

async function openOn(shelf: AdapterShelf, loraDir: string | undefined) {
  const folder = await inspectModelFolder(LLAMA);
  if (folder.kind === 'export') throw new Error('not a folder');
  const options = { loraDir, maxLoraRank: 8 };
  return openAdapters(options, { shelf, base: 'base' }, folder.config, 'onnxruntime', SILENT);
}

/** @param modules paths by name */
async function open(modules: Readonly<Record<string, string>>, loraDir?: string) {
  const given = Object.entries(modules).map(([name, path]) => [name, { path, base: null }]);
  const options = { loraModules: Object.fromEntries(given), loraDir };
  const { shelf } = servedLora(options, ONE);
  return (await openOn(shelf, loraDir)).adapters;
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

const modules = (base: string | null) => ({
  loraModules: { tone: { path: '/a', base } },
  loraDir: undefined,
});
const SEVERAL = { names: new Set(['base', 'second']), aliases: ['other'], only: null };

test('an adapter of the command line is for the model that it names, or for the only one', () => {
  const shelves = [
    servedLora(modules(null), ONE),
    servedLora(modules('base'), ONE),
    servedLora(modules('base'), SEVERAL),
  ];
  for (const lora of shelves) {
    expect(lora.shelf.list()).toEqual([
      { name: 'tone', path: '/a', base: 'base', isOfFlags: true },
    ]);
    expect(['base', 'second'].map((name) => lora.needOf(name))).toEqual(['must', 'none']);
  }
});

test.each([
  [modules(null), SEVERAL, 'say which one tone is for'],
  [modules('third'), SEVERAL, 'tone is for third, and there is only base, second'],
  [{ loraModules: { base: { path: '/a', base: null } } }, ONE, 'the model is called base'],
  [{ loraModules: { other: { path: '/a', base: null } } }, ONE, 'the model is called other'],
])('%j is refused', (options, names, message) => {
  expect(() => servedLora({ loraDir: undefined, ...options }, names)).toThrow(message);
});

test('with a folder for adapters, of several models those have room that can', () => {
  expect(servedLora({ loraDir: '/a' }, SEVERAL).needOf('base')).toBe('may');
  expect(servedLora({ loraDir: '/a' }, ONE).needOf('base')).toBe('must');
});

type Model = Parameters<typeof takesLora> extends [unknown, ...infer Rest] ? Rest : never;
const CPU = { device: CPU_DEVICE };
const WEBGPU = { device: { ...CPU_DEVICE, name: 'webgpu' as const } };
const CUDA = { device: { ...CPU_DEVICE, name: 'cuda' as const } };

test.each<[Model, string]>([
  [['buildable', WEBGPU, 'fp32', false], 'need the CPU, not webgpu'],
  [['buildable', CUDA, 'fp16', false], 'need the CPU, not cuda'],
  [['buildable', CPU, 'int8-static', false], 'int8-static smooths'],
  [['export', CPU, 'fp32', false], 'not an ONNX export'],
  [['buildable', CPU, 'fp32', true], 'not for a model that hears'],
])('a model that can take no adapters is refused where it must (%#)', (model, message) => {
  expect(takesLora('may', ...model)).toBe(false);
  expect(takesLora('none', ...model)).toBe(false);
  expect(() => takesLora('must', ...model)).toThrow(message);
});

test('other models take them where they may', () => {
  const needs = ['must', 'may', 'none'] as const;
  const taken = needs.map((need) => takesLora(need, 'buildable', CPU, 'int8', false));
  expect(taken).toEqual([true, true, false]);
});

test('what a request brought is there after a reload, but for what is gone', async () => {
  vi.stubEnv('CHAIRLIFT_CACHE', await temporaryDirectory());
  const dir = await temporaryDirectory();
  for (const name of ['kept', 'gone']) {
    await cp(join(ADAPTERS, 'llama-all'), join(dir, name), { recursive: true });
  }
  const { shelf } = servedLora({ loraDir: dir }, ONE);
  const reload = () => openOn(shelf, dir);
  const first = await reload();
  for (const name of ['kept', 'gone']) await first.adapters.load(name, name);
  // The next model is loaded while the first one still takes adapters.
  const second = await reload();
  expect(second.adapters.list()).toEqual(first.adapters.list());
  await first.adapters.load('late', 'kept');
  expect(second.adapters.find('late')).toBeNull();
  await second.restore();
  expect(second.adapters.find('late')?.engine).toEqual(first.adapters.find('late')?.engine);

  await rm(join(dir, 'gone'), { recursive: true });
  const third = await reload();
  expect(third.adapters.list().map(({ name }) => name)).toEqual(['kept', 'late']);
  // An adapter that is unloaded is of no model any more, and its name is free for another.
  shelf.remove('kept');
  expect(second.adapters.find('kept')).toBeNull();
  await third.adapters.load('kept', 'kept');
  expect(second.adapters.find('kept')).toBeNull();
});
