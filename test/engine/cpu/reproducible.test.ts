import { closeSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { calibrateKv } from '../../../src/engine/cpu/kv-calibration.ts';
import type { EngineRequest, TokenOutput } from '../../../src/engine/request.ts';
import { type OpenedEngine, openEngine } from '../../../src/engine/process/open-engine.ts';
import { paddedWidth, type RunPadding } from '../../../src/engine/cpu/run-padding.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { BuildOptions } from '../../../src/model/build/build-options.ts';
import type {
  BuiltModel,
  KernelSet,
  KvCacheDtype,
  Precision,
} from '../../../src/model/manifest.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { orLong } from '../../support/long-runs.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const MAX_SEQS = 5;
let salt = 0;

/** @param maxNumBatchedTokens what prompts are cut by */
function open(
  model: BuiltModel,
  maxNumBatchedTokens: number,
  sharedMemoryFd: number | null = null,
): OpenedEngine {
  // Results of native kernels are computed again, to the same bits.
  const durableKv = model.manifest.kernels !== 'native';
  const options = {
    model,
    maxNumSeqs: MAX_SEQS,
    maxModelLen: 128,
    maxNumBatchedTokens,
    threads: 2,
    kvCacheMemory: 2 ** 28,
    prefixCaching: true,
    targetItlMs: null,
    durableKv,
  } as const;
  return openEngine(options, sharedMemoryFd);
}

/** A request that comes at a step. */
interface Arrival {
  readonly atStep: number;
  readonly request: EngineRequest;
}

/** Outputs by request; the engine is lost before the steps in `crashes`, and another one takes over. */
function run(
  model: BuiltModel,
  maxNumBatchedTokens: number,
  arrivals: readonly Arrival[],
  crashes: readonly number[],
): Map<number, TokenOutput[]> {
  let opened = open(model, maxNumBatchedTokens);
  const { sharedMemoryFd } = opened.info;
  const outputs = new Map(arrivals.map(({ request }) => [request.id, [] as TokenOutput[]]));
  const outputsOf = (request: EngineRequest) => outputs.get(request.id) ?? [];
  const isUnfinished = (request: EngineRequest) => outputsOf(request).length < request.maxTokens;
  for (let step = 0; arrivals.some(({ request }) => isUnfinished(request)); step++) {
    if (crashes.includes(step)) {
      opened.decoder.release();
      opened = open(model, maxNumBatchedTokens, sharedMemoryFd);
      const begun = arrivals.filter(({ atStep }) => atStep < step).map(({ request }) => request);
      const resumed = begun.filter(isUnfinished).map((request) => ({
        ...request,
        outputTokenIds: Int32Array.from(outputsOf(request), ({ tokenId }) => tokenId),
      }));
      const durable = sharedMemoryFd !== null;
      const added = durable ? opened.engine.adopt(resumed) : resumed;
      for (const request of added) opened.engine.add(request);
    }
    for (const { atStep, request } of arrivals) if (atStep === step) opened.engine.add(request);
    for (const output of opened.engine.step()) outputs.get(output.id)?.push(output);
  }
  opened.decoder.release();
  if (sharedMemoryFd !== null) closeSync(sharedMemoryFd);
  return outputs;
}

/** All that logits show in the outputs, to the last bit. */
const bitsOf = (outputs: readonly TokenOutput[] = []) =>
  outputs.map(({ tokenId, logprobs }) => ({ tokenId, logprobs }));

const reference = JSON.parse(readFileSync('models/summit/reference.json', 'utf8')) as {
  readonly prompts: readonly { readonly ids: number[] }[];
};
const TEXT = reference.prompts.flatMap(({ ids }) => ids);

const arrivals = fc
  .array(
    fc.record({
      atStep: fc.nat(12),
      start: fc.nat(TEXT.length - 70),
      length: fc.integer({ min: 1, max: 70 }),
      maxTokens: fc.integer({ min: 1, max: 8 }),
    }),
    { minLength: 1, maxLength: MAX_SEQS },
  )
  .map((all) =>
    all.map(({ atStep, start, length, maxTokens }, index): Arrival => {
      const promptTokenIds = Int32Array.from(TEXT.slice(start, start + length));
      // Taken from another's answer, a prompt's beginning would have been computed token by token.
      const options = { maxTokens, logprobs: 3, cacheSalt: `arrival ${index}` };
      const request = engineRequest({ id: 1 + index, promptTokenIds, ...options });
      return { atStep, request };
    }),
  );

async function build(
  precision: Precision,
  kvCacheDtype: KvCacheDtype,
  kernels: KernelSet,
): Promise<BuiltModel> {
  const options: BuildOptions = { precision, cacheDirectory: cache.path };
  if (kernels === 'native') {
    const nativeKernels = { kvCacheDtype };
    return prepareModel({ kind: 'folder', path: 'models/summit' }, { ...options, nativeKernels });
  }
  const isQuantized = kvCacheDtype === 'int8';
  return prepareModel(
    { kind: 'folder', path: 'models/summit' },
    isQuantized ? { ...options, calibrateKv } : options,
  );
}

const onLinux = needs(LINUX);

describe.each([
  ['fp32', 'float32', 'onnxruntime'],
  ['int8', 'float32', 'onnxruntime'],
  ['int4', 'float32', 'onnxruntime'],
  ['int4', 'int8', 'onnxruntime'],
  ['int8', 'float32', 'native'],
  ['int8', 'int8', 'native'],
  ['int4', 'float16', 'native'],
] as const)('%s with a KV cache of %s and kernels of %s', (precision, kvCacheDtype, kernels) => {
  it('computes the same bits in any batch, any chunks, after a crash', onLinux, async () => {
    const model = await build(precision, kvCacheDtype, kernels);
    const crashes = fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 2 });
    const budget = fc.integer({ min: MAX_SEQS, max: 100 });
    const { engine, decoder } = open(model, 128);
    fc.assert(
      fc.property(arrivals, crashes, budget, (all, lost, maxNumBatchedTokens) => {
        const outputs = run(model, maxNumBatchedTokens, all, lost);
        for (const { request } of all) {
          // With a salt of its own no prefix is taken from another's text.
          engine.add({ ...request, cacheSalt: `${salt++}` });
          const alone: TokenOutput[] = [];
          while (engine.hasWork) alone.push(...engine.step());
          expect(bitsOf(outputs.get(request.id))).toEqual(bitsOf(alone));
        }
      }),
      { numRuns: orLong(4, 8) },
    );
    decoder.release();
  });
});

describe('padding', () => {
  const EVEN: RunPadding = { minWidth: 2, isEven: true };

  it('gives runs an even number of tokens, and never changes any otherwise', () => {
    const lengths = fc.array(fc.record({ numTokens: fc.integer({ min: 1, max: 9 }) }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(lengths, fc.nat(5), (segments, numDecoding) => {
        const longest = Math.max(...segments.map(({ numTokens }) => numTokens));
        expect(paddedWidth(segments, { minWidth: 1, isEven: false }, numDecoding)).toBe(longest);
        const width = paddedWidth(segments, EVEN, numDecoding);
        expect(width - Math.max(2, longest)).toBeOneOf([0, 1]);
        const isHopeless = segments.length % 2 === 0 && numDecoding % 2 === 1;
        expect((numDecoding + segments.length * width) % 2).toBe(isHopeless ? 1 : 0);
      }),
    );
  });
});
