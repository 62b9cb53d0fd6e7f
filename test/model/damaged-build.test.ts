import { cp, open, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { openGraph } from '../../src/engine/graph-session.ts';
import type { ModelSource } from '../../src/model/build/model-source.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { fileHash } from '../../src/model/cache/content-hash.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { PRESETS } from '../../src/model/huggingface/presets.ts';
import { DecoderRun } from '../support/decoder-run.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TINY = { kind: 'random', config: PRESETS.tiny, seed: 1 } as const;

/** A build, and what was said of damage. */
async function build(cacheDirectory: string, source: ModelSource = TINY) {
  const damages: string[] = [];
  const onDamaged = (what: string) => damages.push(what);
  const model = await prepareModel(source, { precision: 'fp32', cacheDirectory, onDamaged });
  return { model, damages };
}

/** Hashes of a build's files by their names. */
async function contentOf({ graphPath }: BuiltModel): Promise<Record<string, string>> {
  const folder = dirname(graphPath);
  const hashes: Record<string, string> = {};
  for (const name of await readdir(folder)) hashes[name] = await fileHash(join(folder, name));
  return hashes;
}

async function flip(path: string, position: (size: number) => number): Promise<void> {
  const file = await open(path, 'r+');
  const byte = Buffer.alloc(1);
  const at = position((await file.stat()).size);
  await file.read(byte, 0, 1, at);
  await file.write(Buffer.of((byte[0] ?? 0) ^ 1), 0, 1, at);
  await file.close();
}

const FILES = ['decoder.onnx', 'decoder.onnx.data', 'mixed.onnx', 'manifest.json'];

test.each([
  ...FILES.flatMap(
    (name) =>
      [
        [name, 'is cut', /^\S+ has \d+ of its \d+ bytes$/, (path: string) => truncate(path, 100)],
        [name, 'is empty', /^\S+ has 0 of its \d+ bytes$/, (path: string) => truncate(path, 0)],
        [name, 'is missing', /^\S+ is missing$/, (path: string) => rm(path)],
        [name, 'changed first', /^\S+ has changed$/, (path: string) => flip(path, () => 0)],
        [name, 'changed', /^\S+ has changed$/, (path: string) => flip(path, (size) => size >> 1)],
        [
          name,
          'changed last',
          /^\S+ has changed$/,
          (path: string) => flip(path, (size) => size - 1),
        ],
      ] as const,
  ),
  ['contents.json', 'is missing', /contents\.json/, (path: string) => rm(path)],
  ['contents.json', 'is cut', /contents\.json/, (path: string) => truncate(path, 20)],
  ['contents.json', 'is another', /^contents\.json is/, (path: string) => writeFile(path, '[]')],
] as const)('a build whose %s %s is built again, once', async (name, _, message, damage) => {
  const cache = await temporaryDirectory();
  const { model, damages: before } = await build(cache);
  expect(before).toEqual([]);
  const whole = await contentOf(model);
  await damage(join(dirname(model.graphPath), name));

  const { model: again, damages } = await build(cache);
  expect(again).toEqual(model);
  expect(damages).toHaveLength(1);
  const [folder, what] = damages[0]?.split(' is damaged, ') ?? [];
  expect(folder).toBe(dirname(model.graphPath));
  expect(what).toContain(name);
  expect(what).toMatch(message);
  expect(await contentOf(again)).toEqual(whole);
  expect(await readdir(join(cache, 'models'))).toHaveLength(1);
  expect((await build(cache)).damages).toEqual([]);
});

test('a damaged build is built again by all who find it', async () => {
  const cache = await temporaryDirectory();
  const { model } = await build(cache);
  await truncate(`${model.graphPath}.data`, 1000);
  const all = await Promise.all([build(cache), build(cache), build(cache)]);
  for (const each of all) expect(each.model).toEqual(model);
  expect(await readdir(join(cache, 'models'))).toHaveLength(1);
  await (await DecoderRun.create(model.graphPath, model.manifest, 1, 8)).release();
});

test('of a file over 64 MiB its size, its ends and what is spread between are looked at', async () => {
  const cache = await temporaryDirectory();
  const config = { ...PRESETS.tiny, vocab_size: 300_000 };
  const source = { ...TINY, config } as const;
  const { model } = await build(cache, source);
  const data = `${model.graphPath}.data`;
  const { size } = await open(data).then(async (file) => {
    const stats = await file.stat();
    await file.close();
    return stats;
  });
  expect(size).toBeGreaterThan(65 * 2 ** 20);
  await flip(data, (bytes) => bytes - 1);
  expect((await build(cache, source)).damages).toEqual([
    `${dirname(data)} is damaged, decoder.onnx.data has changed`,
  ]);
  await truncate(data, size - 1);
  expect((await build(cache, source)).damages).toHaveLength(1);
});

test('weights of an export that are cut off are told by their name', async () => {
  const cache = await temporaryDirectory();
  const folder = await temporaryDirectory();
  await cp(join('test', 'exports', 'hub'), folder, { recursive: true });
  const source = { kind: 'folder', path: folder } as const;
  const { model } = await build(cache, source);
  expect((await build(cache, source)).model).toEqual(model);
  const weights = join(folder, 'onnx', 'model.onnx_data');
  const { length } = await readFile(weights);
  await truncate(weights, length - 1);
  await expect(build(cache, source)).rejects.toThrow(
    `${weights} has only ${length - 1} of ${length} bytes: it is truncated`,
  );
});

test('a graph that ONNX Runtime refuses is named, with what helps', async () => {
  const { model } = await build(await temporaryDirectory());
  await writeFile(model.graphPath, 'garbage');
  expect(() => openGraph(model.graphPath, model)).toThrow(
    new RegExp(
      `${model.graphPath}: delete ${dirname(model.graphPath)}, and the model is built again`,
    ),
  );
});
