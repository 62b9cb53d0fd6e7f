/** Texts of models whose layers have states: the same whatever else the engine computes, keeps and loses. */
import { readdirSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { TokenOutput } from '../../../src/engine/request.ts';
import type { Sequence } from '../../../src/engine/sequence.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { BuiltModel, KvCacheDtype, Precision } from '../../../src/model/manifest.ts';
import type { Arrival } from '../../support/crashing-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { HYBRID_FIXTURES } from '../../support/family-text.ts';
import { HybridEngine, type HybridShape, longHybrid } from '../../support/hybrid-engine.ts';
import { orLong } from '../../support/long-runs.ts';
import { RandomDrafts } from '../../support/random-drafts.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const VOCAB_SIZE = 64;

/** Every family, and every kind of KV cache once. */
const MODELS: readonly (readonly [string, Precision, KvCacheDtype])[] = [
  ...readdirSync(HYBRID_FIXTURES)
    .toSorted()
    .map((name) => [name, 'int8', 'float32'] as const),
  ['lfm2', 'int8', 'int8'],
  ['lfm2', 'int4', 'float16'],
];

const arrivals = fc
  .array(
    fc.record({
      atStep: fc.oneof(fc.nat(20), fc.constant(0)),
      // Few beginnings, so that prompts share prefixes of all lengths, and whole prompts.
      family: fc.nat(1),
      shared: fc.constantFrom(0, 0, 20, 32, 48, 60),
      own: fc.array(fc.nat(VOCAB_SIZE - 1), { minLength: 1, maxLength: 12 }),
      maxTokens: fc.integer({ min: 1, max: 40 }),
      isAborted: fc.boolean(),
      isRead: fc.oneof(fc.constant(false), fc.constant(false), fc.boolean()),
    }),
    { minLength: 6, maxLength: 10, size: 'max' },
  )
  .map((all) =>
    all.map(({ atStep, family, shared, own, maxTokens, isAborted, isRead }, index) => {
      const beginning = Array.from({ length: shared }, (_, at) => (at * 7 + family) % VOCAB_SIZE);
      const promptTokenIds = Int32Array.of(...beginning, ...own);
      const output = isRead ? READ : { maxTokens, logprobs: 3 };
      const request = engineRequest({ id: 1 + index, promptTokenIds, ...output });
      return { atStep, request, abortAt: isAborted ? atStep + maxTokens : Infinity };
    }),
  );

const READ = { maxTokens: 0, readout: { kind: 'hidden' } } as const;

type HybridArrival = Arrival & { readonly abortAt: number };

/** Events that engines went through, all together. */
const seen = {
  preemptions: 0,
  prefixHits: 0,
  crashes: 0,
  joinedRuns: 0,
  acceptedTokens: 0,
  rejectedTokens: 0,
};

/** Outputs by request; the engine is lost before the steps in `crashes`, and another one computes again. */
function run(
  model: BuiltModel,
  shape: HybridShape,
  all: readonly HybridArrival[],
  crashes: readonly number[],
): Map<number, TokenOutput[]> {
  let opened = new HybridEngine(model, shape);
  const outputs = new Map(all.map(({ request }) => [request.id, [] as TokenOutput[]]));
  const close = () => {
    const { stats } = opened.engine;
    seen.preemptions += stats.numPreemptions;
    seen.acceptedTokens += stats.numAcceptedTokens;
    seen.rejectedTokens += stats.numDraftTokens - stats.numAcceptedTokens;
    seen.joinedRuns += opened.numJoinedRuns;
    seen.prefixHits += Number(stats.prefixCacheHits > 0);
    opened.release();
  };
  for (let step = 0; step <= 20 || opened.engine.hasWork; step++) {
    if (crashes.includes(step)) {
      close();
      seen.crashes += 1;
      opened = new HybridEngine(model, shape);
      for (const { atStep, request, abortAt } of all) {
        const soFar = outputs.get(request.id) ?? [];
        if (atStep >= step || abortAt < step || soFar.at(-1)?.finishReason) continue;
        const outputTokenIds = Int32Array.from(soFar, ({ tokenId }) => tokenId);
        opened.engine.add({ ...request, outputTokenIds });
      }
    }
    for (const { atStep, request, abortAt } of all) {
      if (atStep === step) opened.engine.add(request);
      if (abortAt === step) opened.engine.abort(request.id);
    }
    for (const output of opened.engine.step()) outputs.get(output.id)?.push(output);
  }
  close();
  return outputs;
}

/** All that is computed for a request, to the last bit. */
const bitsOf = (outputs: readonly TokenOutput[] = []) =>
  outputs.map(({ tokenId, logprobs, values, error }) => ({ tokenId, logprobs, values, error }));

describe.each(MODELS)('%s in %s with a KV cache of %s', (name, precision, kvCacheDtype) => {
  it('computes the same bits in any batch and chunks, with drafts, from snapshots, after a crash', async () => {
    const source = { kind: 'folder', path: await longHybrid(name, cache.path) } as const;
    const nativeKernels = { kvCacheDtype };
    const options = { precision, nativeKernels, cacheDirectory: cache.path };
    const model = await prepareModel(source, options);
    expect(model.manifest.vocabSize).toBe(VOCAB_SIZE);
    const plain = { maxNumBatchedTokens: 128, spacing: 1024, spareRows: 0, maxPages: 64 };
    const shapes = fc.record({
      maxNumBatchedTokens: fc.integer({ min: 4, max: 100 }),
      spacing: fc.constantFrom(8, 16, 20, 64),
      spareRows: fc.integer({ min: 0, max: 30 }),
      maxPages: fc.integer({ min: 8, max: 14 }),
    });
    const seeds = fc.option(fc.nat(), { nil: null });
    const crashes = fc.uniqueArray(fc.integer({ min: 1, max: 30 }), { maxLength: 2 });
    const alone = new HybridEngine(model, plain);
    let numAlone = 0;
    fc.assert(
      fc.property(arrivals, shapes, crashes, seeds, (all, shape, lost, seed) => {
        // With a salt of its own no prefix is taken from another's text.
        const textOf = ({ request }: HybridArrival) =>
          bitsOf(alone.textOf({ ...request, cacheSalt: `${numAlone++}` }));
        const texts = new Map(all.map((each) => [each.request.id, textOf(each)]));
        const nextOf = (text: readonly number[], { id, numPromptTokens }: Sequence) =>
          texts.get(id)?.[text.length - numPromptTokens]?.tokenId ?? 0;
        const drafts = seed === null ? null : new RandomDrafts(seed, true, nextOf, VOCAB_SIZE);
        const outputs = run(model, { ...shape, drafts }, all, lost);
        for (const { request, abortAt } of all) {
          const expected = texts.get(request.id) ?? [];
          expect(expected.at(-1)?.error).toBeUndefined();
          const got = bitsOf(outputs.get(request.id));
          expect(got).toEqual(abortAt === Infinity ? expected : expected.slice(0, got.length));
        }
      }),
      { numRuns: orLong(10, 60) },
    );
    alone.release();
  });
});

it('a third text begins where two others parted, however far apart snapshots are', async () => {
  const source = { kind: 'folder', path: await longHybrid('qwen3.5', cache.path) } as const;
  const nativeKernels = { kvCacheDtype: 'float32' } as const;
  const options = { precision: 'int8', nativeKernels, cacheDirectory: cache.path } as const;
  const model = await prepareModel(source, options);
  const engine = new HybridEngine(model, {
    maxNumBatchedTokens: 128,
    spacing: 1024,
    spareRows: 8,
    maxPages: 64,
  });
  const beginning = Array.from({ length: 50 }, (_, at) => (at * 7) % VOCAB_SIZE);
  const cached = [1, 2, 3].map((id) => {
    const promptTokenIds = Int32Array.of(...beginning, id, 40, 41, 42);
    return engine.textOf(engineRequest({ id, promptTokenIds, maxTokens: 4 }))[0]?.numCachedTokens;
  });
  expect(cached).toEqual([0, 0, 48]);
  engine.release();
});

it('the engines above lost sequences, texts and processes', () => {
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(5);
});
