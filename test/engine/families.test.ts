import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { calibrateKv } from '../../src/engine/cpu/kv-calibration.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { KernelSet, KvCacheDtype, Precision } from '../../src/model/manifest.ts';
import { FAMILY_FIXTURES } from '../support/families.ts';
import { deviation, readReferences, Text } from '../support/family-text.ts';
import { everyOrLong, orLong } from '../support/long-runs.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

async function open(
  name: string,
  maxModelLen: number,
  precision: Precision = 'fp32',
  kvCacheDtype: KvCacheDtype = 'float32',
  kernels: KernelSet = 'onnxruntime',
): Promise<Text> {
  const isNative = kernels === 'native';
  const model = await prepareModel(
    { kind: 'folder', path: join(FAMILY_FIXTURES, name) },
    {
      precision,
      maxModelLen,
      cacheDirectory: cache.path,
      ...(isNative && { nativeKernels: { kvCacheDtype } }),
      ...(kvCacheDtype === 'int8' && !isNative && { calibrateKv }),
    },
  );
  return new Text(model, maxModelLen);
}

const COMPUTED = [
  ['fp32', 'float32', 'onnxruntime', 1e-5],
  ['fp16', 'float32', 'onnxruntime', 0.01],
  ['int8', 'float32', 'onnxruntime', 0.1],
  // Weights this small and random have little to average out.
  ['int4', 'float32', 'onnxruntime', 0.7],
  ['fp32', 'int8', 'onnxruntime', 0.05],
  ['int8', 'float32', 'native', 0.1],
  ['int4', 'float32', 'native', 0.7],
  ['int8', 'float16', 'native', 0.1],
  ['int8', 'int8', 'native', 0.1],
  ['int8', 'int4', 'native', 0.5],
] as const;

/** All of them, or some: other ones for each family, so that all are there. */
function computedFor(family: number) {
  const number = orLong(1, COMPUTED.length);
  const first = (family * number) % COMPUTED.length;
  const all = [...COMPUTED.slice(first), ...COMPUTED.slice(0, first)];
  return all.slice(0, number);
}

const FAMILIES = everyOrLong(3, readdirSync(FAMILY_FIXTURES).toSorted()).map((name, index) => ({
  name,
  index,
}));

describe.each(FAMILIES)('$name', ({ name, index }) => {
  it('gives the logits and greedy tokens of Transformers', async () => {
    for (const { ids, greedy, maxModelLen, logitsAt } of await readReferences(name)) {
      const text = await open(name, maxModelLen);
      const { tokens, first, last } = text.continue(ids, greedy.length);
      expect(deviation(first, logitsAt(ids.length))).toBeLessThan(1e-5);
      expect(tokens).toEqual(greedy);
      expect(deviation(last, logitsAt(ids.length + greedy.length))).toBeLessThan(1e-5);
      text.release();
    }
  });

  it.each(computedFor(index))(
    'in %s with a KV cache in %s and kernels of %s computes the same chunk by chunk',
    async (precision, dtype, kernels, tolerance) => {
      const [, long] = await readReferences(name);
      const { ids = [], greedy = [], maxModelLen = 0, lengths = [], logitsAt } = long ?? {};
      const text = await open(name, maxModelLen, precision, dtype, kernels);
      const all = [...ids, ...greedy];
      let start = 0;
      for (const end of lengths) {
        const logits = text.extend(all.slice(start, end));
        expect(deviation(logits, logitsAt?.(end) ?? [])).toBeLessThan(tolerance);
        start = end;
      }
      text.release();
    },
  );
});
