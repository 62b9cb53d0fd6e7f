/** Models in folders of a repository, as Microsoft and NVIDIA lay out their ONNX exports. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  cachedExports,
  cachedFolder,
  pullModel,
} from '../../../src/model/download/remote-model.ts';
import { exportBelow } from '../../../src/model/folder/export-below.ts';
import { hubRemote } from '../../../src/model/hub/hub-remote.ts';
import { parseHubReference } from '../../../src/model/hub/hub-repository.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { CPU_DEVICE } from '../../../src/engine/gpu/device-options.ts';
import { pickVariant } from '../../../src/serving/choices/export-precision.ts';
import { findModel } from '../../../src/serving/models/find-model.ts';
import { localModelFolder } from '../../../src/serving/models/download-model.ts';
import { FakeHub } from '../../support/fake-hub.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const GENAI = JSON.stringify({
  model: {
    type: 'phi3',
    vocab_size: 64,
    context_length: 64,
    decoder: { filename: 'model.onnx', inputs: {}, outputs: {} },
  },
});
const CONFIG = JSON.stringify(PRESETS.tiny);

const exported = (folder: string) => ({
  [`${folder}/config.json`]: CONFIG,
  [`${folder}/genai_config.json`]: GENAI,
  [`${folder}/model.onnx`]: 'graph',
  [`${folder}/model.onnx.data`]: 'weights',
  [`${folder}/tokenizer.json`]: '{}',
});

const CPU = 'cpu_and_mobile/cpu-int4-rtn-block-32';
const ACCURATE = `${CPU}-acc-level-4`;
/** As `microsoft/Phi-3-mini-4k-instruct-onnx` has them. */
const PHI = {
  'README.md': '',
  'config.json': '{}',
  ...exported(CPU),
  ...exported(ACCURATE),
  ...exported('cuda/cuda-fp16'),
  ...exported('cuda/cuda-int4-rtn-block-32'),
  ...exported('directml/directml-int4-awq-block-128'),
};

const onCpu = (precision: 'auto' | 'fp16' | 'int8' = 'auto') => ({
  pick: async (choice: Parameters<typeof pickVariant>[2]) => pickVariant(precision, null, choice),
});
const onCuda = (precision: 'auto' | 'int4' = 'auto') => ({
  pick: async (choice: Parameters<typeof pickVariant>[2]) => {
    const device = { ...CPU_DEVICE, name: 'cuda' as const };
    return pickVariant(precision, { device, activationDtypes: ['float16', 'float32'] }, choice);
  },
});

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryDirectory();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
  return folder;
}

async function hubWith(files: Readonly<Record<string, string>>) {
  const hub = await FakeHub.start(files);
  onTestFinished(() => hub.stop());
  const cacheDirectory = await temporaryDirectory();
  const remote = (reference: string, isOffline = false) =>
    hubRemote(parseHubReference(reference), { endpoint: hub.endpoint, token: null, isOffline });
  const home = join(cacheDirectory, 'hub', 'owner--name', hub.commit);
  const pull = async (reference: string, { pick } = onCpu(), isOffline = false) =>
    relative(
      home,
      await pullModel(remote(reference, isOffline), {
        cacheDirectory,
        pickVariant: pick,
        retryMs: 1,
      }),
    );
  return { hub, pull, remote, cacheDirectory, home };
}

test.each([
  ['hf:owner/name', onCpu(), ACCURATE],
  ['hf:owner/name', onCuda(), 'cuda/cuda-fp16'],
  ['hf:owner/name', onCuda('int4'), 'cuda/cuda-int4-rtn-block-32'],
  ['hf:owner/name:cuda/', onCuda('int4'), 'cuda/cuda-int4-rtn-block-32'],
  ['hf:owner/name:cpu_and_mobile/', onCuda(), ACCURATE],
  [`hf:owner/name:${CPU}`, onCpu(), CPU],
  [`hf:owner/name:${CPU}/@main`, onCpu(), CPU],
  ['hf:owner/name:cuda/cuda-fp16', onCpu(), 'cuda/cuda-fp16'],
])('of %s one folder is downloaded, and nothing else', async (reference, device, expected) => {
  const { hub, pull, home, remote, cacheDirectory } = await hubWith(PHI);
  expect(await pull(reference, device)).toBe(expected);
  expect(hub.downloads.toSorted()).toEqual(Object.keys(exported(expected)));
  expect((await readdir(join(home, expected))).sort()).toHaveLength(5);
  // Both with the hub and without.
  hub.requests.length = 0;
  expect(await pull(reference, device)).toBe(expected);
  expect(await pull(reference, device, true)).toBe(expected);
  expect(hub.downloads).toEqual([]);
  expect(await cachedFolder(remote(reference), cacheDirectory)).toBe(join(home, expected));
});

test('a folder that was not downloaded is none of this machine', async () => {
  const { pull, remote, cacheDirectory } = await hubWith(PHI);
  await pull(`hf:owner/name:${CPU}`);
  const other = 'hf:owner/name:cuda/cuda-fp16';
  expect(await cachedFolder(remote(other), cacheDirectory)).toBeNull();
  await expect(pull(other, onCpu(), true)).rejects.toThrow(
    `owner/name has no model in a folder cuda/cuda-fp16, only in ${CPU}`,
  );
});

test('of downloaded folders the device says which is served; one that was cut off is none', async () => {
  const { hub, pull, home, cacheDirectory } = await hubWith(PHI);
  await pull('hf:owner/name');
  await pull('hf:owner/name:cuda/cuda-fp16');
  vi.stubEnv('CHAIRLIFT_CACHE', cacheDirectory);
  vi.stubEnv('HF_ENDPOINT', hub.endpoint);
  hub.stop();
  const { source, name } = await findModel('owner/name');
  expect(name).toBe('owner/name');
  expect(await localModelFolder(source, onCpu().pick)).toBe(join(home, ACCURATE));
  expect(await localModelFolder(source, onCuda().pick)).toBe(join(home, 'cuda/cuda-fp16'));
  expect((await findModel('owner/name:cuda/')).source).toBe(join(home, 'cuda/cuda-fp16'));
  await writeFile(join(home, ACCURATE, 'model.onnx.data.partial'), '');
  expect((await findModel('owner/name')).source).toBe(join(home, 'cuda/cuda-fp16'));
});

test('a GGUF file that was not downloaded beside another one is asked for', async () => {
  const { pull, remote, cacheDirectory } = await hubWith({
    'a-Q4_K_M.gguf': 'four',
    'a-Q8_0.gguf': 'eight',
  });
  expect(await pull('hf:owner/name:Q4_K_M')).toBe('a-Q4_K_M.gguf');
  expect(await cachedExports(remote('hf:owner/name:Q8_0'), cacheDirectory)).toBeNull();
});

test.each([
  // Two models.
  [
    { ...exported('qwen-1.5B/cpu_and_mobile/cpu-int4'), ...exported('qwen-7B/gpu/gpu-int4') },
    'hf:owner/name',
    'several ONNX exports (qwen-1.5B/cpu_and_mobile/cpu-int4, qwen-7B/gpu/gpu-int4): name one of them, as hf:owner/name:qwen-1.5B/cpu_and_mobile/cpu-int4',
  ],
  // Two for the same device.
  [
    { ...exported('cpu/cpu-int4-rtn-block-32'), ...exported('cpu/cpu-int4-awq-block-128') },
    'hf:owner/name',
    'several ONNX exports (cpu/cpu-int4-rtn-block-32, cpu/cpu-int4-awq-block-128): name one',
  ],
  [
    exported('npu'),
    'hf:owner/name',
    'has models in folders of it (npu): name one, as hf:owner/name:npu/',
  ],
  [
    PHI,
    'hf:owner/name:vulkan/',
    'has no model in a folder vulkan, only in cpu_and_mobile/cpu-int4',
  ],
  // It may be a part of something else.
  [
    { 'text_encoder/config.json': CONFIG, 'text_encoder/model.safetensors': 'x' },
    'hf:owner/name',
    'has models in folders of it (text_encoder): name one, as hf:owner/name:text_encoder/',
  ],
])('refuses what is not clear, and says what to name', async (files, reference, message) => {
  const { hub, pull } = await hubWith(files);
  await expect(pull(reference)).rejects.toThrow(message);
  expect(hub.downloads.filter((name) => /onnx|safetensors/.test(name))).toEqual([]);
});

test('a precision that no folder has is told with what there is', async () => {
  const { pull } = await hubWith(PHI);
  await expect(pull('hf:owner/name', onCpu('int8'))).rejects.toThrow(
    `owner/name has no graph in int8 for cpu, only ${CPU}`,
  );
});

test.each([
  ['checkpoint-500/', 'checkpoint-500'],
  ['gguf/small/', 'gguf/small/a-Q8_0.gguf'],
  ['onnx-community/export/', 'onnx-community/export'],
])('one of several other models is named by its folder %s', async (named, expected) => {
  const { pull } = await hubWith({
    'checkpoint-500/config.json': CONFIG,
    'checkpoint-500/model.safetensors': 'weights',
    'checkpoint-500/tokenizer.json': '{}',
    'gguf/small/a-Q8_0.gguf': 'gguf',
    'onnx-community/export/config.json': CONFIG,
    'onnx-community/export/onnx/model_q4.onnx': 'graph',
  });
  expect(await pull(`hf:owner/name:${named}`)).toBe(expected);
});

test('a folder of this machine is searched by the same rule', async () => {
  const folder = await folderWith(PHI);
  expect(await exportBelow(folder)).toBe(join(folder, ACCURATE));
  expect(await localModelFolder(folder, onCuda().pick)).toBe(join(folder, 'cuda/cuda-fp16'));
  const two = await folderWith({ ...exported('phi-int4'), ...exported('llama-fp16') });
  await expect(localModelFolder(two, onCpu().pick)).rejects.toThrow(
    `${two} has several ONNX exports (llama-fp16, phi-int4): name one of them, as ${join(two, 'llama-fp16')}`,
  );
  // The folder's own files come first.
  await writeFile(join(folder, 'genai_config.json'), GENAI);
  expect(await localModelFolder(folder, onCpu().pick)).toBe(folder);
  await rm(folder, { recursive: true });
  expect(await exportBelow(folder)).toBeNull();
});
