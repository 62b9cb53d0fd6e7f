import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';

import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import { calibrateKv } from '../../src/engine/cpu/kv-calibration.ts';
import { argmax } from '../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf } from '../../src/engine/step.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { KernelSet, KvCacheDtype, Precision } from '../../src/model/build/manifest.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

/** What Transformers computes, see scripts/references. */
const FIXTURES = 'test/fixtures/families';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const referencesSchema = z
  .array(
    z.object({
      max_model_len: z.number(),
      ids: z.array(z.number()),
      greedy: z.array(z.number()),
      /** By the number of tokens that lead to them. */
      logits: z.record(z.string(), z.array(z.number())),
    }),
  )
  .min(2);

async function readReferences(name: string) {
  const text = await readFile(join(FIXTURES, name, 'reference.json'), 'utf8');
  return referencesSchema.parse(JSON.parse(text)).map(({ max_model_len, logits, ...rest }) => ({
    ...rest,
    maxModelLen: max_model_len,
    lengths: Object.keys(logits).map(Number),
    logitsAt: (length: number): readonly number[] => logits[length] ?? [],
  }));
}

/** One sequence, computed from its first token on. */
class Text {
  readonly #decoder: CpuDecoder;
  readonly #sequence = new Sequence(engineRequest({ promptTokenIds: new Int32Array() }));
  #length = 0;

  private constructor(decoder: CpuDecoder) {
    this.#decoder = decoder;
    this.#sequence.slot = 0;
  }

  static async open(
    name: string,
    maxModelLen: number,
    precision: Precision = 'fp32',
    kvCacheDtype: KvCacheDtype = 'float32',
    kernels: KernelSet = 'onnxruntime',
  ): Promise<Text> {
    const isNative = kernels === 'native';
    const model = await prepareModel(
      { kind: 'folder', path: join(FIXTURES, name) },
      {
        precision,
        maxModelLen,
        cacheDirectory: cache.path,
        ...(isNative && { nativeKernels: { kvCacheDtype } }),
        ...(kvCacheDtype === 'int8' && !isNative && { calibrateKv }),
      },
    );
    return new Text(new CpuDecoder(model, { numSlots: 1, maxModelLen }));
  }

  /** @returns the logits after more tokens; a decode run computes a single one */
  extend(tokenIds: readonly number[]): Float32Array {
    const sequence = this.#sequence;
    const start = this.#length;
    for (const tokenId of tokenIds) sequence.append(tokenId);
    this.#length += tokenIds.length;
    const segments = [segmentOf(sequence, tokenIds.length, start)];
    const [result] = this.#decoder.execute({ cacheOperations: [], segments }).logits;
    return result?.logits[0]?.slice() ?? new Float32Array();
  }

  release(): void {
    this.#decoder.release();
  }
}

/** Largest difference, against the largest expected value. */
function deviation(actual: ArrayLike<number>, expected: readonly number[]): number {
  expect(actual).toHaveLength(expected.length);
  const largest = Math.max(...expected.map(Math.abs));
  return Math.max(...expected.map((value, i) => Math.abs(value - (actual[i] ?? NaN)))) / largest;
}

describe.each(readdirSync(FIXTURES))('%s', (name) => {
  it('gives the logits and greedy tokens of Transformers', async () => {
    for (const { ids, greedy, maxModelLen, logitsAt } of await readReferences(name)) {
      const text = await Text.open(name, maxModelLen);
      let logits = text.extend(ids);
      expect(deviation(logits, logitsAt(ids.length))).toBeLessThan(1e-5);
      const tokens: number[] = [];
      while (tokens.length < greedy.length) {
        const token = argmax(logits);
        tokens.push(token);
        logits = text.extend([token]);
      }
      expect(tokens).toEqual(greedy);
      expect(deviation(logits, logitsAt(ids.length + greedy.length))).toBeLessThan(1e-5);
      text.release();
    }
  });

  it.each([
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
  ] as const)(
    'in %s with a KV cache in %s and kernels of %s computes the same chunk by chunk',
    async (precision, dtype, kernels, tolerance) => {
      const [, long] = await readReferences(name);
      const { ids = [], greedy = [], maxModelLen = 0, lengths = [], logitsAt } = long ?? {};
      const text = await Text.open(name, maxModelLen, precision, dtype, kernels);
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
