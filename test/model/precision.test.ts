import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

import { LockstepDecoder } from '../../src/eval/lockstep-decoder.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { BuildOptions } from '../../src/model/build/build-options.ts';
import {
  type BuiltModel,
  type KernelSet,
  type KvCacheDtype,
  NATIVE_PRECISIONS,
  type Precision,
  PRECISIONS,
} from '../../src/model/manifest.ts';
import type { NativePrecision } from '../../src/model/native/native-format.ts';
import { everyOrLong } from '../support/long-runs.ts';
import { DecoderRun } from '../support/decoder-run.ts';
import { calibrationWith } from '../support/static-calibration.ts';

const SUMMIT = 'models/summit';

const reference = z
  .object({
    prompts: z.array(
      z.object({
        ids: z.array(z.number()),
        top_ids: z.array(z.number()),
        top_logits: z.array(z.number()),
        greedy: z.array(z.number()),
      }),
    ),
  })
  .parse(JSON.parse(await readFile(join(SUMMIT, 'reference.json'), 'utf8')));

const cacheDirectory = await mkdtemp(join(tmpdir(), 'chairlift-test-'));
afterAll(() => rm(cacheDirectory, { recursive: true, force: true }));

const SOURCE = { kind: 'folder', path: SUMMIT } as const;
const TEXTS = reference.prompts.map(({ ids, greedy }) => Int32Array.from([...ids, ...greedy]));
const NATIVE = { nativeKernels: { kvCacheDtype: 'float32' } } as const;
const CALIBRATED = { staticCalibration: calibrationWith(TEXTS, SOURCE, cacheDirectory) };

async function build(
  precision: Precision,
  options: Pick<BuildOptions, 'nativeKernels'> = {},
): Promise<BuiltModel> {
  const calibration = precision === 'int8-static' ? CALIBRATED : {};
  const native = NATIVE_PRECISIONS.has(precision) ? NATIVE : {};
  return prepareModel(SOURCE, { precision, cacheDirectory, ...native, ...options, ...calibration });
}

test('every precision is a build of its own', async () => {
  const builds = await Promise.all(PRECISIONS.map((precision) => build(precision)));
  expect(builds.map(({ manifest }) => manifest.precision)).toEqual(PRECISIONS);
  expect(new Set(builds.map(({ graphPath }) => graphPath)).size).toBe(PRECISIONS.length);
});

/** Logits of the reference's prompts, and the likeliest token after each. */
async function firstLogits(precision: Precision): Promise<Float32Array[]> {
  const { graphPath, manifest } = await build(precision);
  const longest = Math.max(...reference.prompts.map(({ ids }) => ids.length));
  const run = await DecoderRun.create(graphPath, manifest, 1, longest);
  onTestFinished(() => run.release());
  const all: Float32Array[] = [];
  for (const { ids } of reference.prompts) {
    const [logits = new Float32Array()] = await run.step({ ids: [ids], lengths: [ids.length] });
    all.push(logits);
  }
  return all;
}

/** How far logits are from the reference's, and how many of the likeliest tokens are the same. */
function deviation(all: readonly Float32Array[]): { largest: number; same: number } {
  let largest = 0;
  let same = 0;
  for (const [
    i,
    { top_ids: topIds, top_logits: topLogits, greedy },
  ] of reference.prompts.entries()) {
    const logits = all[i] ?? new Float32Array();
    for (const [j, id] of topIds.entries()) {
      largest = Math.max(largest, Math.abs((logits[id] ?? NaN) - (topLogits[j] ?? NaN)));
    }
    same += Number(logits.indexOf(Math.max(...logits)) === greedy[0]);
  }
  return { largest, same };
}

// Measured with AVX-512: fp16 2e-5 and 12 of 12 tokens, int8 0.23 and 12, int4 0.96 and 11. Other
// CPUs round differently.
describe.each([
  ['fp16', 2e-3, 12],
  ['int8', 0.6, 11],
  ['int8-static', 1.5, 11],
  ['int4', 2.5, 10],
] as const)('%s', (precision, tolerance, sameTokens) => {
  test("summit's logits stay near those of another implementation", async () => {
    const { largest, same } = deviation(await firstLogits(precision));
    expect(largest).toBeLessThan(tolerance);
    expect(same).toBeGreaterThanOrEqual(sameTokens);
  });
});

/** Likewise with native kernels, token by token. */
async function nativeLogits(
  precision: NativePrecision,
  kvCacheDtype: KvCacheDtype,
): Promise<Float32Array[]> {
  const model = await build(precision, { nativeKernels: { kvCacheDtype } });
  const capacity = Math.max(...reference.prompts.map(({ ids }) => ids.length));
  const decoder = new LockstepDecoder(model, { numSlots: 1, capacity, threads: 1 });
  onTestFinished(() => decoder.release());
  return reference.prompts.map(({ ids }) => {
    for (const [position, tokenId] of ids.entries()) decoder.step([{ tokenId, position }]);
    return decoder.logits(0).slice();
  });
}

const NATIVE_CASES = [
  ['int8', 'float32', 0.6, 11],
  ['int8-static', 'float32', 1.5, 11],
  ['int8', 'float16', 0.6, 11],
  ['int8', 'int8', 0.6, 11],
  ['int4', 'float32', 2.5, 10],
  ['int8-blocks', 'float32', 0.6, 11],
  ['int4-mixed', 'float32', 1.5, 10],
  ['int4', 'float16', 2.5, 10],
] as const;

test.each(everyOrLong(2, NATIVE_CASES))(
  "with native kernels in %s and a KV cache of %s summit's logits stay as near",
  async (precision, kvCacheDtype, tolerance, sameTokens) => {
    const { largest, same } = deviation(await nativeLogits(precision, kvCacheDtype));
    expect(largest).toBeLessThan(tolerance);
    expect(same).toBeGreaterThanOrEqual(sameTokens);
  },
);

test('fp16 computes what fp32 does, for weights that are float16 already', async () => {
  expect(await firstLogits('fp16')).toEqual(await firstLogits('fp32'));
});

/** Prompts to decode side by side, and how many of their tokens. */
const ROWS = reference.prompts.slice(0, 8).map(({ ids }) => ids);
const STEPS = 8;

async function openDecoder(
  precision: Precision,
  kernels: KernelSet = 'onnxruntime',
): Promise<LockstepDecoder> {
  const options = { numSlots: ROWS.length, capacity: STEPS, threads: 2 };
  const native = { nativeKernels: { kvCacheDtype: 'float32' } } as const;
  const model = await build(precision, kernels === 'native' ? native : {});
  const decoder = new LockstepDecoder(model, options);
  onTestFinished(() => decoder.release());
  return decoder;
}

/** Logits by row and step, when the rows are decoded in one batch from their beginning. */
function decode(decoder: LockstepDecoder, rows: readonly (readonly number[])[]): Float32Array[][] {
  const logits = rows.map((): Float32Array[] => []);
  for (let position = 0; position < STEPS; position++) {
    decoder.step(rows.map((ids) => ({ tokenId: ids[position] ?? 0, position })));
    for (const [row, ofRow] of logits.entries()) ofRow.push(decoder.logits(row).slice());
  }
  return logits;
}

function sameBits(a: Float32Array[] | undefined, b: Float32Array[] | undefined): boolean {
  const bytes = (logits: Float32Array[] = []) =>
    Buffer.concat(logits.map(({ buffer }) => Buffer.from(buffer)));
  return bytes(a).equals(bytes(b));
}

const BATCH_CASES = [
  ['int8', 'onnxruntime'],
  ['fp32', 'onnxruntime'],
  ['int8-static', 'native'],
  ['int8-static', 'onnxruntime'],
  ['int4-mixed', 'native'],
  ['int8-blocks', 'native'],
] as const;

test.each(everyOrLong(2, BATCH_CASES))(
  '%s, kernels %s: a row computes the same bits alone and in a batch of 2 to 8',
  async (precision, kernels) => {
    const decoder = await openDecoder(precision, kernels);
    const alone = ROWS.map((ids) => decode(decoder, [ids])[0]);
    for (let numSlots = 2; numSlots <= ROWS.length; numSlots++) {
      const together = decode(decoder, ROWS.slice(0, numSlots));
      for (const [row, logits] of together.entries()) {
        expect(sameBits(logits, alone[row])).toBe(true);
      }
    }
  },
);

test('int4: a row computes nearly the same alone and in a batch', async () => {
  const decoder = await openDecoder('int4');
  const together = decode(decoder, ROWS);
  for (let numSlots = 1; numSlots < ROWS.length; numSlots++) {
    for (const [row, steps] of decode(decoder, ROWS.slice(0, numSlots)).entries()) {
      for (const [step, logits] of steps.entries()) {
        const others = together[row]?.[step] ?? [];
        // Leftover rows go through another kernel: 0.1 was measured, where the likeliest logits reach 22.
        const near = logits.every((logit, id) => Math.abs(logit - (others[id] ?? NaN)) < 0.5);
        expect(near).toBe(true);
      }
    }
  }
});

test('int8-static says of how many matrices the inputs have constant scales', async () => {
  for (const kernels of ['onnxruntime', 'native'] as const) {
    const native = { nativeKernels: { kvCacheDtype: 'float32' } } as const;
    const { manifest } = await build('int8-static', kernels === 'native' ? native : {});
    expect(manifest.constantScales?.of).toBe(4 * manifest.numLayers);
    expect(manifest.constantScales?.matrices).toBeGreaterThan(2 * manifest.numLayers);
  }
});
