import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync, writeSync } from 'node:fs';
import { copyFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { expect, test } from 'vitest';

import type { ModelSource } from '../../../src/model/build/model-source.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';
import { PRESETS } from '../../../src/model/huggingface/presets.ts';
import { DecoderRun } from '../../support/decoder-run.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const TINY = { kind: 'random', config: PRESETS.tiny, seed: 1 } as const;
const FOOTHILL = join('models', 'foothill');

type Progress = (done: number, total: number, label: string) => void;

const build = (
  cacheDirectory: string,
  source: ModelSource = TINY,
  onProgress: Progress = () => undefined,
) => prepareModel(source, { precision: 'fp32', cacheDirectory, onProgress });

async function copyModel(): Promise<string> {
  const folder = await temporaryDirectory();
  for (const file of ['config.json', 'model.safetensors']) {
    await copyFile(join(FOOTHILL, file), join(folder, file));
  }
  return folder;
}

test('a model is built once, with progress up to the end', async () => {
  const cache = await temporaryDirectory();
  const progress: number[] = [];
  const first = await build(cache, TINY, (done, total) => progress.push(done / total));
  expect(first.manifest).toEqual({
    formatVersion: expect.any(Number),
    family: 'llama',
    precision: 'fp32',
    activationDtype: 'float32',
    kvCacheDtype: 'float32',
    kernels: 'onnxruntime',
    numLayers: 2,
    numKvHeads: 2,
    headDim: 16,
    vocabSize: 512,
    maxPositionEmbeddings: 256,
    numParameters: 125_248,
  });
  expect(progress.at(-1)).toBe(1);
  expect(progress).toEqual([...progress].sort((a, b) => a - b));

  const second = await build(cache, TINY, () => expect.unreachable('built again'));
  expect(second).toEqual(first);
});

test('a build with an int8 cache is calibrated once, on the one with a float32 cache', async () => {
  const cacheDirectory = await temporaryDirectory();
  const float = await build(cacheDirectory);
  const ones = new Float32Array(2 * 16).fill(1);
  const calibrated: string[] = [];
  const calibrateKv = async ({ graphPath }: BuiltModel) => {
    calibrated.push(graphPath);
    return Array.from({ length: 2 }, () => ({ key: ones, value: ones }));
  };
  const options = { precision: 'fp32', cacheDirectory, calibrateKv } as const;
  const int8 = await prepareModel(TINY, options);
  expect(await prepareModel(TINY, options)).toEqual(int8);
  expect(calibrated).toEqual([float.graphPath]);
  expect(int8.graphPath).not.toBe(float.graphPath);
  expect(int8.manifest).toEqual({ ...float.manifest, kvCacheDtype: 'int8' });
  expect(await build(cacheDirectory)).toEqual(float);
});

test('a build in float16 is one of its own, with a graph for PagedAttention', async () => {
  const cacheDirectory = await temporaryDirectory();
  const options = { precision: 'fp16', cacheDirectory } as const;
  const float = await prepareModel(TINY, options);
  const half = await prepareModel(TINY, { ...options, activationDtype: 'float16' });
  expect(half.graphPath).not.toBe(float.graphPath);
  expect(half.manifest).toEqual({
    ...float.manifest,
    activationDtype: 'float16',
    kvCacheDtype: 'float16',
  });
  expect(float.pagedGraphPath).toBeNull();
  expect(half.pagedGraphPath && existsSync(half.pagedGraphPath)).toBe(true);
});

test('weights that are computed with in float32 only are not built in float16', async () => {
  const cacheDirectory = await temporaryDirectory();
  for (const precision of ['fp32', 'int8'] as const) {
    const options = { precision, activationDtype: 'float16', cacheDirectory } as const;
    await expect(prepareModel(TINY, options)).rejects.toThrow('weights of fp16 or int4');
  }
});

test('a build with native kernels is one of its own for each cache, in int8 and int4', async () => {
  const cacheDirectory = await temporaryDirectory();
  const options = { precision: 'int8', cacheDirectory } as const;
  const plain = await prepareModel(TINY, options);
  const nativeKernels = { kvCacheDtype: 'float16' } as const;
  const native = await prepareModel(TINY, { ...options, nativeKernels });
  expect(native.graphPath).not.toBe(plain.graphPath);
  expect(native.manifest).toEqual({
    ...plain.manifest,
    kernels: 'native',
    kvCacheDtype: 'float16',
  });
  const other = await prepareModel(TINY, { ...options, nativeKernels: { kvCacheDtype: 'int8' } });
  expect(other.graphPath).not.toBe(native.graphPath);
  await expect(
    prepareModel(TINY, { precision: 'fp32', cacheDirectory, nativeKernels }),
  ).rejects.toThrow('weights of int8 or int4');
});

test('a build in int8-static is calibrated once for each calibration, and not without one', async () => {
  const cacheDirectory = await temporaryDirectory();
  const found: string[] = [];
  const calibration = (key: string) => ({
    key,
    find: async () => {
      found.push(key);
      return { factors: new Map(), steps: new Map([['layers.0.mlp.down', 0.1]]) };
    },
  });
  const options = { precision: 'int8-static', cacheDirectory } as const;
  const one = await prepareModel(TINY, { ...options, staticCalibration: calibration('one') });
  const two = await prepareModel(TINY, { ...options, staticCalibration: calibration('two') });
  expect(two.graphPath).not.toBe(one.graphPath);
  expect(await prepareModel(TINY, { ...options, staticCalibration: calibration('one') })).toEqual(
    one,
  );
  expect(found).toEqual(['one', 'two']);
  expect(one.manifest.constantScales).toEqual({ matrices: 1, of: 8 });

  await expect(prepareModel(TINY, options)).rejects.toThrow('int8-static has a calibration');
  const staticCalibration = calibration('three');
  const int8 = { ...options, precision: 'int8', staticCalibration } as const;
  await expect(prepareModel(TINY, int8)).rejects.toThrow('no other precision has one');
  const withAdapters = { ...options, staticCalibration, maxAdapterRank: 4 };
  await expect(prepareModel(TINY, withAdapters)).rejects.toThrow('adapters do not read');
  expect(found).toHaveLength(2);
});

test('shape and seed tell builds apart', async () => {
  const cache = await temporaryDirectory();
  const { graphPath } = await build(cache);
  const other = await build(cache, { ...TINY, seed: 2 });
  expect(other.graphPath).not.toBe(graphPath);
  const data = await Promise.all(
    [graphPath, other.graphPath].map((path) => readFile(`${path}.data`)),
  );
  expect(data[0]?.equals(data[1] ?? Buffer.alloc(0))).toBe(false);
  const reshaped = { ...PRESETS.tiny, rope_theta: 5 };
  expect((await build(cache, { ...TINY, config: reshaped })).graphPath).not.toBe(graphPath);
});

test('the same weights are one build wherever they lie, other weights another', async () => {
  const cache = await temporaryDirectory();
  const here = await build(cache, { kind: 'folder', path: FOOTHILL });
  const folder = await copyModel();
  expect(await build(cache, { kind: 'folder', path: folder })).toEqual(here);

  const file = join(folder, 'model.safetensors');
  const bytes = await readFile(file);
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  await writeFile(file, bytes);
  const changed = await build(cache, { kind: 'folder', path: folder });
  expect(changed.graphPath).not.toBe(here.graphPath);
});

test('a build that fails half way leaves nothing behind', async () => {
  const cache = await temporaryDirectory();
  const interrupted = build(cache, TINY, () => {
    throw new Error('interrupted');
  });
  await expect(interrupted).rejects.toThrow('interrupted');
  expect(await readdir(join(cache, 'models'))).toEqual([]);
  const { graphPath, manifest } = await build(cache);
  await (await DecoderRun.create(graphPath, manifest, 1, 8)).release();
});

test('what a killed builder leaves is neither used nor kept', async () => {
  const cache = await temporaryDirectory();
  const script = join('test', 'support', 'killed-builder.ts');
  const { signal } = spawnSync(process.execPath, ['--import', 'tsx', script, cache]);
  expect(signal).toBe('SIGKILL');
  expect(await readdir(join(cache, 'models'))).toEqual([expect.stringContaining('.building-')]);

  const { graphPath, manifest } = await build(cache);
  expect(await readdir(join(cache, 'models'))).toEqual([expect.not.stringContaining('.building-')]);
  await (await DecoderRun.create(graphPath, manifest, 1, 8)).release();
});

test('builders at the same time all succeed with one result', async () => {
  const cache = await temporaryDirectory();
  const built = await Promise.all([build(cache), build(cache), build(cache)]);
  expect(new Set(built.map(({ graphPath }) => graphPath)).size).toBe(1);
  expect(await readdir(join(cache, 'models'))).toHaveLength(1);
});

test('a build folder that was damaged is built again', async () => {
  const cache = await temporaryDirectory();
  const { graphPath } = await build(cache);
  await rm(join(dirname(graphPath), 'manifest.json'));
  let progressed = false;
  expect((await build(cache, TINY, () => (progressed = true))).graphPath).toBe(graphPath);
  expect(progressed).toBe(true);
  expect(await readdir(join(cache, 'models'))).toHaveLength(1);
});

test('weights that change during the build are refused', async () => {
  const cache = await temporaryDirectory();
  const folder = await copyModel();
  const file = join(folder, 'model.safetensors');
  const building = build(cache, { kind: 'folder', path: folder }, (done) => {
    const descriptor = openSync(file, 'r+');
    writeSync(descriptor, Uint8Array.of(done % 256), 0, 1, 10_000);
    closeSync(descriptor);
  });
  await expect(building).rejects.toThrow('the weights changed while the model was being built');
  expect(await readdir(join(cache, 'models'))).toEqual([]);
});

test('a damaged checkpoint is refused by the name of file and tensor', async () => {
  const cache = await temporaryDirectory();
  const folder = await copyModel();
  const file = join(folder, 'model.safetensors');
  await writeFile(file, (await readFile(file)).subarray(0, -10));
  const building = build(cache, { kind: 'folder', path: folder });
  await expect(building).rejects.toThrow(ModelError);
  await expect(building).rejects.toThrow(
    /model\.safetensors: tensor "model\.[a-z.]+" ends at byte/,
  );
});

test('a checkpoint of another shape is refused by the name of the tensor', async () => {
  const folder = await copyModel();
  const config: unknown = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
  const wrong = JSON.stringify({ ...Object(config), intermediate_size: 128 });
  await writeFile(join(folder, 'config.json'), wrong);
  const building = build(await temporaryDirectory(), { kind: 'folder', path: folder });
  await expect(building).rejects.toThrow(
    '"model.layers.0.mlp.gate_proj.weight" has shape [352, 128], expected [128, 128]',
  );
});

test('a full disk is named as the cause', async () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), {
    code: 'ENOSPC',
    syscall: 'write',
  });
  const cache = await temporaryDirectory();
  const building = build(cache, TINY, () => {
    throw full;
  });
  await expect(building).rejects.toThrow(ModelError);
  await expect(building).rejects.toThrow(
    `the disk is full: the built model does not fit into ${cache}`,
  );
});

test('a cache directory that is not there is made', async () => {
  const cache = join(await temporaryDirectory(), 'a', 'b');
  const { graphPath } = await build(cache);
  expect(graphPath.startsWith(cache)).toBe(true);
});
