/** Differences of a build's weights from its checkpoint's. */
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { BuildOptions } from '../../../src/model/build/build-options.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { ModelSource } from '../../../src/model/build/model-source.ts';
import { compareWeights } from '../../../src/model/compare/compare-weights.ts';
import { summaryOfChanges, tableOfErrors } from '../../../src/cli/build/weight-report.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const FOOTHILL: ModelSource = { kind: 'folder', path: join('models', 'foothill') };
const NATIVE = { nativeKernels: { kvCacheDtype: 'float16' } } as const;

async function changesOf(
  options: Pick<BuildOptions, 'precision' | 'nativeKernels'>,
  source: ModelSource = FOOTHILL,
) {
  const model = await prepareModel(source, {
    ...options,
    cacheDirectory: await temporaryDirectory(),
  });
  return compareWeights(source, model, { withErrors: true });
}

const relative = async (...args: Parameters<typeof changesOf>) =>
  (await changesOf(...args)).map(({ error }) => error?.relative ?? NaN);

test('floats of a checkpoint are the same in fp32 and fp16', async () => {
  for (const precision of ['fp32', 'fp16'] as const) {
    const changes = await changesOf({ precision });
    // The embedding, which is the LM head too, and four matrices of each layer.
    expect(changes.map(({ name }) => name).slice(0, 3)).toEqual([
      'model.embed_tokens',
      'layers.0.attention.qkv',
      'layers.0.attention.output',
    ]);
    for (const { from, form, error } of changes) {
      expect(from).toEqual(['F16']);
      expect(form).toBe(precision === 'fp32' ? 'float32' : 'float16');
      expect(error).toEqual({ largest: 0, rms: 0, relative: 0 });
    }
  }
});

test('8 bits lose less than 4, and each kernel set as much as the other', async () => {
  const int8 = await relative({ precision: 'int8' });
  const int4 = await relative({ precision: 'int4' });
  expect(Math.max(...int8)).toBeLessThan(0.02);
  expect(Math.min(...int8)).toBeGreaterThan(0.001);
  // All but the embedding have 4 bits.
  expect(Math.max(...int4)).toBeLessThan(0.15);
  expect(Math.min(...int4.slice(1, -1))).toBeGreaterThan(0.03);
  // The same integers in another order; the embedding is the LM head.
  expect(await relative({ precision: 'int8', ...NATIVE })).toEqual(int8.slice(1));
  const native4 = await relative({ precision: 'int4', ...NATIVE });
  // Their scales are float16.
  const layers4 = int4.slice(1);
  expect(native4).toHaveLength(layers4.length + 1);
  for (const [index, error] of layers4.entries()) {
    expect(Math.abs((native4[index] ?? NaN) / error - 1)).toBeLessThan(0.01);
  }
  expect(native4.at(-1)).toBe(int8.at(-1));
});

test('heads in the order of rotation are compared with themselves', async () => {
  const path = join('test', 'fixtures', 'families', 'phi3');
  const errors = await relative({ precision: 'fp32' }, { kind: 'folder', path });
  expect(new Set(errors)).toEqual(new Set([0]));
});

test('a report has a line for each fate, and one for each layer', async () => {
  const changes = await changesOf({ precision: 'int4', ...NATIVE });
  expect(summaryOfChanges(changes).split('\n')).toEqual([
    expect.stringMatching(/^ {2}layers +\d+ matrices +F16 to 4 bits in blocks of 64$/),
    expect.stringMatching(/^ {2}lm_head +1 matrix +F16 to 8 bits in rows$/),
  ]);
  const [titles, ...lines] = tableOfErrors(changes).split('\n');
  expect(titles).toMatch(/LARGEST ERROR +RMS ERROR +OF THE WEIGHTS +WORST/);
  expect(lines).toHaveLength(new Set(changes.map(({ layer }) => layer)).size);
  expect(lines[0]).toMatch(/^layer 0 +0\.\d+ +0\.\d+ +\d+\.\d+% +(attention|mlp)\./);
});
