/** Drafts of a model's own module: the reference's, and texts that are the same with and without them. */
import { closeSync, readdirSync } from 'node:fs';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { CpuDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import { bytesOfPositions, kvShape } from '../../../src/engine/kv-shape.ts';
import { type OpenedEngine, openEngine } from '../../../src/engine/process/open-engine.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import type { EngineRequest, TokenOutput } from '../../../src/engine/request.ts';
import { philox4x32 } from '../../../src/engine/sampling/philox.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { PredictionDrafts } from '../../../src/engine/speculation/prediction-drafts.ts';
import { TokenCost } from '../../../src/engine/speculation/token-cost.ts';
import { segmentOf } from '../../../src/engine/step.ts';
import { prepareModel } from '../../../src/model/build/prepare-model.ts';
import type { BuiltModel, Precision } from '../../../src/model/manifest.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { longHybrid } from '../../support/hybrid-engine.ts';
import { everyOrLong, orLong } from '../../support/long-runs.ts';
import { PREDICTION_FIXTURES, readPredictions } from '../../support/predictions.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const NAMES = readdirSync(PREDICTION_FIXTURES).toSorted();
const VOCAB_SIZE = 64;
const CAPACITY = 256;
const MAX_SEQS = 3;
const COMMON = {
  maxNumSeqs: MAX_SEQS,
  maxModelLen: 128,
  maxNumBatchedTokens: 24,
  threads: 1,
  targetItlMs: null,
  prefixCaching: true,
};
const SPECULATIVE = { draftModel: null, predicts: true, maxTokens: 4, minGain: 0 };
const DRAFTS = { vocabSize: VOCAB_SIZE, settle: () => {} };

async function build(name: string, precision: Precision, predicts: boolean) {
  const path = await longHybrid(name, cache.path, PREDICTION_FIXTURES, CAPACITY);
  const native =
    precision === 'fp32' ? {} : { nativeKernels: { kvCacheDtype: 'float32' } as const };
  const options = { precision, predicts, cacheDirectory: cache.path, maxModelLen: CAPACITY };
  return prepareModel({ kind: 'folder', path }, { ...options, ...native });
}

describe.each(NAMES)('drafts of %s', (name) => {
  it('are those of the reference, wherever chunks of the prompt end', async () => {
    const { text, numPrompt, known } = await readPredictions(name);
    const model = await build(name, 'fp32', true);
    for (const chunk of [numPrompt, 17, 5]) {
      const decoder = new CpuDecoder(model, { numSlots: 2, maxModelLen: CAPACITY });
      const { prediction } = decoder;
      if (prediction === null) throw new Error('no module was built');
      const drafts = new PredictionDrafts({ ...DRAFTS, module: prediction });
      const promptTokenIds = Int32Array.from(text.slice(0, numPrompt));
      const sequence = new Sequence(engineRequest({ promptTokenIds }));
      sequence.slot = 1;
      for (let start = 0; start < text.length - 1;) {
        if (start >= numPrompt) sequence.append(text[start] ?? 0);
        const segment = segmentOf(sequence, Math.min(chunk, sequence.numTokens - start), start);
        decoder.execute({ cacheOperations: [], segments: [segment] });
        start += segment.numTokens;
        const now = known.find(({ length }) => length === sequence.numTokens + 1);
        if (start < numPrompt || now === undefined) continue;
        sequence.append(text[start] ?? 0);
        // Twice: the second time as if the first draft had not been verified.
        for (const numTokens of [1, now.tokens.length]) {
          expect([...drafts.draft(sequence, numTokens).tokenIds]).toEqual(
            now.tokens.slice(0, numTokens),
          );
        }
        sequence.truncate(sequence.numTokens - 1);
        seen.references += 1;
      }
      decoder.release();
    }
  });
});

const seen = { references: 0, accepted: 0, rejected: 0, preemptions: 0, prefixHits: 0 };

interface Arrival {
  readonly atStep: number;
  readonly abortAt: number;
  readonly request: EngineRequest;
}

/** Requests that share beginnings, greedy and drawn, some of them aborted. */
function arrivals(seed: number): Arrival[] {
  return Array.from({ length: 9 }, (_, index) => {
    const [a, b, c, d] = philox4x32([index, 0, 0, 0], [seed, 7]);
    const numShared = [0, 24, 48][a % 3] ?? 0;
    const shared = Array.from({ length: numShared }).map((__, at) => 3 + ((at * 7) % 60));
    const own = Array.from({ length: 1 + (b % 9) }).map((__, at) => 3 + ((b + at * c) % 60));
    const isDrawn = d % 3 === 0;
    const maxTokens = 4 + (c % 40);
    const request = engineRequest({
      id: index + 1,
      promptTokenIds: Int32Array.of(...shared, ...own),
      maxTokens,
      sampling: isDrawn ? { temperature: 0.7, seed: BigInt(index) } : {},
    });
    const atStep = (index >> 1) * 9;
    return { atStep, abortAt: d % 4 === 0 ? atStep + (c % 12) : Infinity, request };
  });
}

/** Has every run take a millisecond, and drafts nothing: as long as they may be, whatever else the machine does. */
function fixCosts(): () => void {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => (now += 1));
  const cost = vi.spyOn(TokenCost.prototype, 'observe').mockReturnValue(undefined);
  return () => {
    clock.mockRestore();
    cost.mockRestore();
  };
}

function run(
  all: readonly Arrival[],
  options: EngineOptions,
  afterStep: (outputs: readonly TokenOutput[]) => void = () => {},
) {
  const { engine, decoder, speculator } = openEngine(options);
  const texts = new Map(all.map(({ request }) => [request.id, [] as number[]]));
  const last = Math.max(...all.map(({ atStep }) => atStep));
  const restoreCosts = fixCosts();
  for (let step = 0; step <= last || engine.hasWork; step++) {
    for (const { atStep, abortAt, request } of all) {
      if (step === atStep) engine.add(request);
      if (step === abortAt) engine.abort(request.id);
    }
    const outputs = engine.step();
    for (const { id, tokenId } of outputs) texts.get(id)?.push(tokenId);
    afterStep(outputs);
  }
  restoreCosts();
  const { stats } = engine;
  speculator?.release();
  decoder.release();
  return { texts, stats };
}

/** Memory of so many pages, and those that are set aside. */
function fewPages({ manifest }: BuiltModel, numPages: number): number {
  const shape = kvShape(manifest, 1, 128);
  return (numPages + MAX_SEQS) * bytesOfPositions(shape, shape.pageLength);
}

interface Drafted {
  readonly request: EngineRequest;
  readonly text: readonly number[];
  readonly tokenIds: readonly number[];
}

/** Collects all drafts that are made. @returns what to call after each step, and the drafts */
function watchDrafts() {
  const spy = vi.spyOn(PredictionDrafts.prototype, 'draft');
  const drafted: Drafted[] = [];
  const afterStep = (outputs: readonly TokenOutput[]) => {
    for (const [index, [sequence]] of spy.mock.calls.entries()) {
      const result = spy.mock.results[index];
      if (result?.type !== 'return') continue;
      const numNew = outputs.filter(({ id }) => id === sequence.id).length;
      drafted.push({
        request: sequence.request,
        text: [...sequence.tokenIds(0, sequence.numTokens - numNew)],
        tokenIds: [...result.value.tokenIds],
      });
    }
    spy.mockClear();
  };
  return { drafted, afterStep };
}

describe.each(NAMES)('drafts in batches of %s', (name) => {
  it('are those of a text alone', async () => {
    const model = await build(name, 'int8', true);
    const isPlain = model.manifest.states === undefined;
    const { drafted, afterStep } = watchDrafts();
    const kvCacheMemory = isPlain ? fewPages(model, 4) : 2 ** 24;
    // States are taken up as they are, without a position before them.
    const memory = { prefixCaching: isPlain, kvCacheMemory };
    run(arrivals(1), { ...COMMON, ...memory, model, speculative: SPECULATIVE }, afterStep);
    vi.restoreAllMocks();
    expect(drafted.length).toBeGreaterThan(10);
    const decoder = new CpuDecoder(model, { numSlots: 1, maxModelLen: CAPACITY });
    const { prediction } = decoder;
    if (prediction === null) throw new Error('no module was built');
    const drafts = new PredictionDrafts({ ...DRAFTS, module: prediction });
    // Nothing is guessed where a prompt's only token, or its last one, is the first that is computed.
    const guesses = drafted.filter(({ tokenIds }) => tokenIds.length > 0);
    expect(drafted.length - guesses.length).toBeLessThan(3);
    for (const { request, text, tokenIds } of everyOrLong(4, guesses)) {
      const { length } = request.promptTokenIds;
      const sequence = new Sequence({
        ...request,
        outputTokenIds: Int32Array.from(text.slice(length)),
      });
      sequence.slot = 0;
      const segment = segmentOf(sequence, text.length - 1, 0);
      decoder.execute({ cacheOperations: [], segments: [segment] });
      expect([...drafts.draft(sequence, tokenIds.length).tokenIds]).toEqual(tokenIds);
    }
    decoder.release();
  });
});

describe.each(NAMES)('texts of %s', (name) => {
  it('are the same with drafts and without, whatever comes and goes', async () => {
    const [model, plain] = [await build(name, 'int8', true), await build(name, 'int8', false)];
    for (let seed = 0; seed < orLong(3, 30); seed++) {
      const all = arrivals(seed);
      // Little enough that sequences are preempted, where texts have no states.
      const kvCacheMemory = model.manifest.states === undefined ? fewPages(model, 4) : 2 ** 24;
      const drafted = run(all, {
        ...COMMON,
        model,
        kvCacheMemory,
        speculative: SPECULATIVE,
      });
      const expected = run(all, { ...COMMON, model: plain, kvCacheMemory: 2 ** 28 });
      for (const { request, abortAt } of all) {
        const [text = [], whole = []] = [drafted, expected].map(({ texts }) =>
          texts.get(request.id),
        );
        const length = abortAt === Infinity ? Infinity : Math.min(text.length, whole.length);
        expect(text.slice(0, length)).toEqual(whole.slice(0, length));
      }
      const { stats } = drafted;
      seen.accepted += stats.numAcceptedTokens;
      seen.rejected += stats.numDraftTokens - stats.numAcceptedTokens;
      seen.preemptions += stats.numPreemptions;
      seen.prefixHits += stats.prefixCacheHits;
    }
  });
});

it.each(['deepseek-v3', 'glm4-moe', 'mimo'])(
  'texts of %s go on with drafts in a cache that outlived a crash',
  async (name) => {
    const [model, plain] = [await build(name, 'int8', true), await build(name, 'int8', false)];
    const all = arrivals(2).map((each) => ({ ...each, atStep: 0, abortAt: Infinity }));
    const memory = { kvCacheMemory: 2 ** 28, durableKv: true };
    const options = { ...COMMON, ...memory, model, speculative: SPECULATIVE };
    const texts = new Map(all.map(({ request }) => [request.id, [] as number[]]));
    const step = ({ engine }: OpenedEngine) => {
      for (const { id, tokenId } of engine.step()) texts.get(id)?.push(tokenId);
    };
    const first = openEngine(options);
    for (const { request } of all) first.engine.add(request);
    for (let count = 0; count < 25; count++) step(first);
    first.decoder.release();
    const { sharedMemoryFd } = first.info;
    const second = openEngine(options, sharedMemoryFd);
    const unfinished = all
      .map(({ request }) => ({
        ...request,
        outputTokenIds: Int32Array.from(texts.get(request.id) ?? []),
      }))
      .filter(({ outputTokenIds, maxTokens }) => outputTokenIds.length < maxTokens);
    const others = second.engine.adopt(unfinished);
    expect(others.length).toBeLessThan(unfinished.length);
    for (const request of others) second.engine.add(request);
    while (second.engine.hasWork) step(second);
    expect(second.engine.stats.numDraftTokens).toBeGreaterThan(0);
    second.decoder.release();
    if (sharedMemoryFd !== null) closeSync(sharedMemoryFd);
    expect(texts).toEqual(run(all, { ...COMMON, model: plain, kvCacheMemory: 2 ** 28 }).texts);
  },
);

it('has seen all that there is to see', () => {
  expect(seen.references).toBeGreaterThanOrEqual(3 * NAMES.length);
  for (const [what, count] of Object.entries(seen)) expect([what, count > 0]).toEqual([what, true]);
});
