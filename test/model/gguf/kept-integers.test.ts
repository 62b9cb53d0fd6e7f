/** GGUF models whose blocks a build keeps: nothing may be rounded a second time. */
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import { compareWeights } from '../../../src/model/compare/compare-weights.ts';
import { inspectGguf } from '../../../src/model/gguf/gguf-checkpoint.ts';
import { everyOrLong } from '../../support/long-runs.ts';
import { deviation, Text } from '../../support/family-text.ts';
import {
  MAX_LENGTH,
  type Matrix,
  type TypeName,
  writeRandomGguf,
} from '../../support/random-gguf.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const IDS = [3, 14, 15, 9, 26, 5, 35];

const cache = await temporaryCache();
afterAll(() => cache.remove());

async function writeModel(
  name: string,
  typeOf: (matrix: Matrix) => TypeName,
  numExperts = 0,
): Promise<string> {
  const path = join(cache.path, `${name}.gguf`);
  await writeRandomGguf(path, { typeOf, numExperts });
  return path;
}

type Kernels = 'native' | 'onnxruntime';

async function build(path: string, precision: 'fp32' | 'int8' | 'int4', kernels: Kernels) {
  const source = { kind: 'folder', path } as const;
  const nativeKernels = kernels === 'native' ? { kvCacheDtype: 'float32' as const } : undefined;
  return prepareModel(source, {
    precision,
    cacheDirectory: cache.path,
    ...(nativeKernels && { nativeKernels }),
  });
}

async function logitsOf(
  path: string,
  precision: 'fp32' | 'int8' | 'int4',
  kernels: Kernels,
): Promise<number[]> {
  const reader = new Text(await build(path, precision, kernels), MAX_LENGTH);
  // The last one alone: of experts, most have no token then.
  reader.extend(IDS);
  const logits = [...reader.extend([7])];
  reader.release();
  return logits;
}

interface Case {
  readonly name: string;
  readonly precision: 'int8' | 'int4';
  readonly forms: readonly string[];
  readonly typeOf: (matrix: Matrix) => TypeName;
  readonly numExperts: number;
}

const pure = (name: TypeName, precision: 'int8' | 'int4', form: string): Case => ({
  name,
  precision,
  forms: [form],
  typeOf: () => name,
  numExperts: 0,
});

const CASES: readonly Case[] = [
  pure('Q4_0', 'int4', '4 bits in blocks of 32'),
  pure('Q4_1', 'int4', '4 bits in blocks of 32 with offsets'),
  pure('Q5_0', 'int8', '8 bits in blocks of 32'),
  pure('Q5_1', 'int8', '8 bits in blocks of 32 with offsets'),
  pure('Q8_0', 'int8', '8 bits in blocks of 32'),
  pure('Q2_K', 'int4', '4 bits in blocks of 16 with offsets'),
  pure('Q3_K', 'int4', '4 bits in blocks of 16'),
  pure('Q4_K', 'int4', '4 bits in blocks of 32 with offsets'),
  pure('Q5_K', 'int8', '8 bits in blocks of 32 with offsets'),
  pure('Q6_K', 'int8', '8 bits in blocks of 16'),
  pure('IQ4_NL', 'int8', '8 bits in blocks of 32'),
  pure('IQ4_XS', 'int8', '8 bits in blocks of 32'),
  pure('IQ2_XXS', 'int8', '8 bits in blocks of 32'),
  pure('IQ2_XS', 'int8', '8 bits in blocks of 16'),
  pure('IQ2_S', 'int8', '8 bits in blocks of 16'),
  pure('IQ3_XXS', 'int8', '8 bits in blocks of 32'),
  pure('IQ3_S', 'int8', '8 bits in blocks of 32'),
  pure('IQ1_S', 'int8', '8 bits in blocks of 32'),
  pure('IQ1_M', 'int8', '8 bits in blocks of 16'),
  pure('TQ1_0', 'int4', '4 bits in blocks of 32'),
  pure('TQ2_0', 'int4', '4 bits in blocks of 32'),
  pure('Q1_0', 'int4', '4 bits in blocks of 32'),
  pure('Q2_0', 'int4', '4 bits in blocks of 32'),
  {
    name: 'Q4_K_M',
    precision: 'int4',
    forms: ['4 bits in blocks of 32 with offsets', '8 bits in blocks of 16'],
    typeOf: (matrix) => (/attn_v|ffn_down/.test(matrix) ? 'Q6_K' : 'Q4_K'),
    numExperts: 0,
  },
  {
    ...pure('Q4_1', 'int4', '4 bits in blocks of 32 with offsets'),
    name: 'mixture',
    numExperts: 8,
  },
];

describe.each(everyOrLong(2, CASES))('$name', ({ name, precision, forms, typeOf, numExperts }) => {
  it(`is kept in ${precision}`, async () => {
    const path = await writeModel(name, typeOf, numExperts);
    const description = forms.join(', ');
    const hasOffsets = description.includes('offsets');
    const expectedPrecision = {
      ...{ precision, isNative: true, hasOffsets, description },
      bytes: expect.any(Number),
    };
    expect((await inspectGguf(path)).stored).toEqual(expectedPrecision);
    const source = { kind: 'folder', path } as const;
    const model = await build(path, precision, 'onnxruntime');
    const changes = await compareWeights(source, model, { withErrors: true });
    const layers = changes.filter(({ layer }) => layer !== null);
    expect(layers).toHaveLength(numExperts === 0 ? 4 : 2 + 2 * numExperts);
    for (const { form, error } of layers) {
      expect(forms).toEqual(expect.arrayContaining(form.split(', ')));
      expect(error?.relative).toBeLessThan(1e-6);
    }
    // The rest is the rounding of activations, and of the embedding.
    const expected = await logitsOf(path, 'fp32', 'onnxruntime');
    const logits = await logitsOf(path, precision, 'onnxruntime');
    expect(deviation(logits, expected)).toBeLessThan(0.03);
  });

  it(`is kept in ${precision} by our own kernels`, async () => {
    const path = await writeModel(`${name}-native`, typeOf, numExperts);
    const source = { kind: 'folder', path } as const;
    const model = await build(path, precision, 'native');
    const changes = await compareWeights(source, model, { withErrors: true });
    const layers = changes.filter(({ layer }) => layer !== null);
    expect(layers).toHaveLength(numExperts === 0 ? 4 : 2 + 2 * numExperts);
    for (const { error } of layers) {
      // Scales and offsets are float16 there.
      expect(error?.relative).toBeLessThan(2 ** -10);
    }
    // The embedding is as it is stored, too: what is left is the rounding of activations.
    const expected = await logitsOf(path, 'fp32', 'onnxruntime');
    expect(deviation(await logitsOf(path, precision, 'native'), expected)).toBeLessThan(0.03);
  });
});

it('rounds what a mixture has in 8 bits with the rest where int8 is asked for', async () => {
  const path = await writeModel('mixed', (matrix) => (matrix === 'attn_v' ? 'Q6_K' : 'Q4_K'));
  const source = { kind: 'folder', path } as const;
  const changes = await compareWeights(source, await build(path, 'int8', 'onnxruntime'), {
    withErrors: false,
  });
  const forms = changes.flatMap(({ layer, form }) => (layer === null ? [] : [form]));
  expect(new Set(forms)).toEqual(new Set(['8 bits in rows']));
});
