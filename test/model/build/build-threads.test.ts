/** Builds in several threads: to the byte what one thread builds, and what it always built. */
import { createHash } from 'node:crypto';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { BuildOptions } from '../../../src/model/build/build-options.ts';
import type { ModelSource } from '../../../src/model/build/model-source.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { TensorFactor } from '../../../src/model/static/smoothed-weights.ts';
import { orLong } from '../../support/long-runs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FOOTHILL = join('models', 'foothill');
const NATIVE = { nativeKernels: { kvCacheDtype: 'float16' } } as const;

async function buildIn(
  threads: number,
  source: ModelSource,
  options: Pick<BuildOptions, 'precision' | 'nativeKernels' | 'staticCalibration'>,
): Promise<string[]> {
  const cacheDirectory = await temporaryDirectory();
  const model = await prepareModel(source, { ...options, cacheDirectory, threads: () => threads });
  const { graphPath, mixedGraphPath } = model;
  return Promise.all(
    [`${graphPath}.data`, graphPath, mixedGraphPath].map(async (path) =>
      createHash('sha256')
        .update(await readFile(path))
        .digest('hex'),
    ),
  );
}

// Hashes of the weights from before there were threads, or pieces of matrices; of native/ since embeddings are
// the LM head's.
const BUILDS = [
  [{ precision: 'int4', ...NATIVE }, '2190b779ad687a5b'],
  [{ precision: 'int8' }, '7768ad1f879b370f'],
  [{ precision: 'fp16' }, '2a33f0aa3785a7a2'],
  [{ precision: 'fp32' }, '771fb96379813056'],
  [{ precision: 'int4' }, '26b461e17afde0f0'],
  [{ precision: 'int8', ...NATIVE }, '91c8d4034145b60e'],
] as const;

const foothill = { kind: 'folder', path: FOOTHILL } as const;

test.each(BUILDS)('%j has the same bytes as ever', async (options, hash) => {
  expect((await buildIn(1, foothill, options))[0]).toMatch(new RegExp(`^${hash}`));
});

// Starting threads takes longer than what they do here.
test.each(BUILDS.slice(0, orLong(1, BUILDS.length)))(
  '%j has the same bytes with two threads as with one',
  async (options) => {
    expect(await buildIn(2, foothill, options)).toEqual(await buildIn(1, foothill, options));
  },
);

test('threads have the adapter, and heads in the order of rotation', async () => {
  const families = join('test', 'fixtures', 'families');
  const adapter = join('test', 'fixtures', 'adapters', 'llama-all');
  for (const source of [
    { kind: 'folder', path: join(families, 'llama'), adapter },
    { kind: 'folder', path: join(families, 'phi3') },
  ] as const) {
    const options = { precision: 'int4', ...NATIVE } as const;
    expect(await buildIn(2, source, options)).toEqual(await buildIn(1, source, options));
  }
});

test.each([NATIVE, {}].slice(0, orLong(1, 2)))(
  'threads have weights that are smoothed: %j',
  async (kernels) => {
    const sizes = Float32Array.from({ length: 128 }, (_, column) => 1 + (column % 7));
    const calibrated = (factor: number) => {
      const columns = sizes.map((size) => size ** factor);
      const down = { columns: new Float32Array(352).fill(2 ** factor) };
      const factors = new Map<string, TensorFactor>([
        ['model.layers.0.self_attn.q_proj.weight', { columns }],
        ['model.layers.0.mlp.down_proj.weight', down],
      ]);
      const find = async () => ({ factors, steps: new Map<string, number>() });
      return {
        precision: 'int8-static',
        ...kernels,
        staticCalibration: { key: '', find },
      } as const;
    };
    const one = await buildIn(1, foothill, calibrated(1));
    expect(await buildIn(2, foothill, calibrated(1))).toEqual(one);
    expect((await buildIn(2, foothill, calibrated(0)))[0]).not.toBe(one[0]);
  },
);

test('what a thread cannot read is told as it is without threads', async () => {
  const path = await temporaryDirectory();
  await copyFile(join(FOOTHILL, 'config.json'), join(path, 'config.json'));
  const bytes = await readFile(join(FOOTHILL, 'model.safetensors'));
  // The header keeps its length.
  const name = '"model.layers.1.mlp.down_proj.weight":{"dtype":';
  const at = bytes.indexOf(name) + name.length;
  expect(at).toBeGreaterThan(name.length);
  const dtype = bytes.toString('latin1', at, bytes.indexOf(',', at));
  bytes.write(dtype === '"F32"' ? '"I32"' : '"U16"'.padEnd(dtype.length), at);
  await writeFile(join(path, 'model.safetensors'), bytes);
  for (const threads of [1, 2]) {
    const building = buildIn(threads, { kind: 'folder', path }, { precision: 'int8', ...NATIVE });
    await expect(building).rejects.toMatchObject({
      name: 'ModelError',
      message: expect.stringMatching(/down_proj\.weight" has dtype [IU]/),
    });
  }
});
