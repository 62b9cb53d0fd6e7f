/** Texts of models with sliding windows: the same to the bit where memory behind the windows goes back. */
import { fstatSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { KvStorage } from '../../../src/engine/cpu/kv-storage.ts';
import { kvShape } from '../../../src/engine/kv-shape.ts';
import type { EngineRequest, TokenOutput } from '../../../src/engine/request.ts';
import type { Sequence } from '../../../src/engine/sequence.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { BuiltModel, KvCacheDtype } from '../../../src/model/manifest.ts';
import { createSharedMemory, PAGE_BYTES } from '../../../src/ort/native-memory.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { FAMILY_FIXTURES } from '../../support/families.ts';
import { longHybrid } from '../../support/hybrid-engine.ts';
import { orLong } from '../../support/long-runs.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { RandomDrafts } from '../../support/random-drafts.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';
import {
  CAPACITY,
  MAX_SEQS,
  WindowedEngine,
  type WindowedShape,
} from '../../support/windowed-engine.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const VOCAB_SIZE = 64;

async function modelOf(name: string, kvCacheDtype?: KvCacheDtype): Promise<BuiltModel> {
  const path = await longHybrid(name, cache.path, FAMILY_FIXTURES, CAPACITY);
  const native = kvCacheDtype && { nativeKernels: { kvCacheDtype }, precision: 'int8' as const };
  const formats = native ?? { precision: 'fp32' as const };
  return prepareModel({ kind: 'folder', path }, { ...formats, cacheDirectory: cache.path });
}

const text = (length: number, family: number) =>
  Array.from({ length }, (_, at) => (at * 7 + at * at * 3 + family) % VOCAB_SIZE);

/** All that is computed for a request, to the last bit. */
const bitsOf = (outputs: readonly TokenOutput[] = []) =>
  outputs.map(({ tokenId, logprobs, error }) => ({ tokenId, logprobs, error }));

const arrivals = fc
  .array(
    fc.record({
      atStep: fc.oneof(fc.nat(60), fc.constant(0)),
      family: fc.nat(1),
      shared: fc.constantFrom(0, 40, 500, 500, 1200),
      own: fc.array(fc.nat(VOCAB_SIZE - 1), { minLength: 1, maxLength: 12 }),
      maxTokens: fc.constantFrom(1, 20, 200, 300),
      isAborted: fc.boolean(),
    }),
    { minLength: 5, maxLength: 8, size: 'max' },
  )
  .map((all) =>
    all.map(({ atStep, family, shared, own, maxTokens, isAborted }, index) => {
      const promptTokenIds = Int32Array.of(...text(shared, family), ...own);
      const request = engineRequest({ id: 1 + index, promptTokenIds, maxTokens, logprobs: 3 });
      return { atStep, request, abortAt: isAborted ? atStep + maxTokens : Infinity };
    }),
  );

interface WindowArrival {
  readonly atStep: number;
  readonly request: EngineRequest;
  readonly abortAt: number;
}

/** Events that engines went through, all together. */
const seen = { preemptions: 0, prefixHits: 0, givenBack: 0, partCopies: 0, acceptedTokens: 0 };

function run(
  model: BuiltModel,
  shape: WindowedShape,
  all: readonly WindowArrival[],
): Map<number, TokenOutput[]> {
  const opened = new WindowedEngine(model, shape);
  const outputs = new Map(all.map(({ request }) => [request.id, [] as TokenOutput[]]));
  for (let step = 0; step <= 60 || opened.engine.hasWork; step++) {
    for (const { atStep, request, abortAt } of all) {
      if (atStep === step) opened.engine.add(request);
      if (abortAt === step) opened.engine.abort(request.id);
    }
    for (const output of opened.engine.step()) outputs.get(output.id)?.push(output);
  }
  const { stats } = opened.engine;
  seen.preemptions += stats.numPreemptions;
  seen.prefixHits += Number(stats.prefixCacheHits > 0);
  seen.acceptedTokens += stats.numAcceptedTokens;
  seen.givenBack += opened.numGivenBack;
  seen.partCopies += opened.numPartCopies;
  opened.release();
  return outputs;
}

describe.each([
  ['gemma3', 'float16'],
  ['gemma3', 'int8'],
  ['gpt-oss', 'float32'],
  // Layers with different heads, of which the last two read the keys of others.
  ['gemma4-small', 'float16'],
  ['gemma3n', 'float16'],
] as const)('%s with a KV cache of %s', (name, kvCacheDtype) => {
  it('computes the same bits in any batch, with drafts and from prefixes', async () => {
    const model = await modelOf(name, kvCacheDtype);
    const shapes = fc.record({
      maxNumBatchedTokens: fc.integer({ min: 8, max: 64 }),
      sparePages: fc.nat(4),
      prefixCaching: fc.constantFrom(true, true, true, false),
    });
    const seeds = fc.option(fc.nat(), { nil: null });
    const alone = new WindowedEngine(model, { maxNumBatchedTokens: 512, givesBack: false });
    let numAlone = 0;
    fc.assert(
      fc.property(arrivals, shapes, seeds, (all, shape, seed) => {
        // With a salt of its own no prefix is taken from another's text.
        const textOf = ({ request }: WindowArrival) =>
          bitsOf(alone.textOf({ ...request, cacheSalt: `${numAlone++}` }));
        const texts = new Map(all.map((each) => [each.request.id, textOf(each)]));
        const nextOf = (own: readonly number[], { id, numPromptTokens }: Sequence) =>
          texts.get(id)?.[own.length - numPromptTokens]?.tokenId ?? 0;
        const drafts = seed === null ? null : new RandomDrafts(seed, true, nextOf, VOCAB_SIZE);
        const outputs = run(model, { ...shape, givesBack: true, drafts }, all);
        for (const { request, abortAt } of all) {
          const expected = texts.get(request.id) ?? [];
          expect(expected.at(-1)?.error).toBeUndefined();
          const got = bitsOf(outputs.get(request.id));
          expect(got).toEqual(abortAt === Infinity ? expected : expected.slice(0, got.length));
        }
      }),
      { numRuns: orLong(9, 60) },
    );
    alone.release();
  });
});

it('the engines above lost sequences, gave windows back and copied some', () => {
  for (const [what, times] of Object.entries(seen))
    expect(times, what).toBeGreaterThan(orLong(0, 5));
});

const long = engineRequest({
  id: 1,
  promptTokenIds: Int32Array.from(text(900, 0)),
  maxTokens: 400,
  logprobs: 3,
});

it.each(['gemma3', 'gpt-oss', 'gemma4-small'])(
  '%s has the same bits on ONNX Runtime',
  async (name) => {
    const model = await modelOf(name);
    const textOf = (givesBack: boolean) => {
      const opened = new WindowedEngine(model, { maxNumBatchedTokens: 64, givesBack });
      const outputs = opened.textOf(long);
      const isGivenBack = opened.numGivenBack > 0;
      opened.release();
      expect(isGivenBack).toBe(givesBack);
      return bitsOf(outputs);
    };
    expect(textOf(true)).toEqual(textOf(false));
  },
);

it(
  'takes a text up after a crash, and never has more memory than it counts',
  needs(LINUX),
  async () => {
    const model = await modelOf('gemma3', 'float16');
    const sharedMemoryFd = createSharedMemory(
      KvStorage.byteLength(kvShape(model.manifest, 2 * MAX_SEQS, CAPACITY)),
    );
    const bytesOfMemory = () => fstatSync(sharedMemoryFd).blocks * 512;
    const shape = { maxNumBatchedTokens: 64, givesBack: true, sharedMemoryFd };
    const plain = new WindowedEngine(model, { maxNumBatchedTokens: 512, givesBack: false });
    const expected = bitsOf(plain.textOf(long));
    plain.release();
    const first = new WindowedEngine(model, shape);
    first.engine.add(long);
    const outputs: TokenOutput[] = [];
    const stepOf = (opened: WindowedEngine) => {
      outputs.push(...opened.engine.step());
      expect(bytesOfMemory()).toBeLessThanOrEqual(opened.residentBytes + PAGE_BYTES);
    };
    for (let step = 0; step < 200; step++) stepOf(first);
    const second = new WindowedEngine(model, shape);
    const outputTokenIds = Int32Array.from(outputs, ({ tokenId }) => tokenId);
    expect(second.engine.adopt([{ ...long, outputTokenIds }])).toEqual([]);
    while (second.engine.hasWork) stepOf(second);
    expect(second.numGivenBack).toBeGreaterThan(0);
    expect(bitsOf(outputs)).toEqual(expected);
    first.release();
    second.release();
  },
);
