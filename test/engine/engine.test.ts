import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WindowBudget } from '../../src/engine/windows/window-budget.ts';
import type { EngineRequest } from '../../src/engine/request.ts';
import { CheckedPages } from '../support/checked-pages.ts';
import { CheckedEngine } from '../support/checked-engine.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { FAKE_VOCAB_SIZE, fakeContinuation } from '../support/fake-decoder.ts';
import { orLong } from '../support/long-runs.ts';
import { RandomDrafts } from '../support/random-drafts.ts';

const CAPACITY = 96;
const STRAY_TOKEN = FAKE_VOCAB_SIZE;

const limits = {
  maxNumSeqs: fc.integer({ min: 2, max: 8 }),
  extraTokens: fc.integer({ min: 0, max: 120 }),
  prefixCaching: fc.boolean(),
  drafts: fc.option(fc.record({ seed: fc.nat(), isFree: fc.boolean() }), { nil: undefined }),
};

interface Limits {
  readonly maxNumSeqs: number;
  readonly extraTokens: number;
  readonly drafts: { readonly seed: number; readonly isFree: boolean } | undefined;
}

function shapeOf({ maxNumSeqs, extraTokens, drafts }: Limits) {
  return {
    maxNumSeqs,
    capacity: CAPACITY,
    maxNumBatchedTokens: maxNumSeqs + extraTokens,
    ...(drafts === undefined ? {} : { drafts: new RandomDrafts(drafts.seed, drafts.isFree) }),
  };
}

/** An engine, how to make a sequence's next run fail, and what only this kind of memory goes through. */
interface Subject {
  readonly checked: CheckedEngine;
  readonly fail: (id: number) => void;
  /** Leaves a sequence's next run without a result. */
  readonly withhold?: (id: number) => void;
  readonly seen: () => Readonly<Record<string, number>>;
}

function draftsOf({ numDrafts, engine: { stats } }: CheckedEngine) {
  return {
    drafts: numDrafts,
    acceptedTokens: stats.numAcceptedTokens,
    rejectedTokens: stats.numDraftTokens - stats.numAcceptedTokens,
  };
}

const inSlots: fc.Arbitrary<() => Subject> = fc
  .record({
    ...limits,
    spareSlots: fc.integer({ min: 0, max: 4 }),
    pageLength: fc.constantFrom(16, 32),
    // From just enough for the longest sequence to enough for most.
    budget: fc.option(fc.integer({ min: 6, max: 8 }), { nil: undefined }),
  })
  .map(({ spareSlots, prefixCaching, pageLength, budget, ...rest }) => () => {
    const checked = CheckedEngine.withSlots({
      ...shapeOf(rest),
      spareSlots,
      prefixCaching,
      pageLength,
      ...(budget === undefined ? {} : { maxPages: Math.floor((budget * 16) / pageLength) }),
    });
    const { decoder } = checked.memory;
    return {
      checked,
      fail: (id) => void decoder.failing.add(id),
      seen: () => ({
        joinedRuns: decoder.numJoinedRuns,
        deadTokens: decoder.numDeadTokens,
        discards: checked.numDiscards,
        ...draftsOf(checked),
      }),
    };
  });

/** Beside states, of which prompts that begin alike have few. */
const withStates: fc.Arbitrary<() => Subject> = fc
  .record({
    ...limits,
    spareSlots: fc.integer({ min: 0, max: 4 }),
    budget: fc.option(fc.integer({ min: 6, max: 8 }), { nil: undefined }),
    states: fc.record({
      spareRows: fc.integer({ min: 0, max: 24 }),
      spacing: fc.constantFrom(4, 16, 20, 64),
    }),
  })
  .map(({ spareSlots, prefixCaching, budget, states, ...rest }) => () => {
    const checked = CheckedEngine.withSlots({
      ...shapeOf(rest),
      spareSlots,
      prefixCaching,
      states,
      ...(budget === undefined ? {} : { maxPages: budget }),
    });
    const { decoder, states: cache } = checked.memory;
    let numWithheld = 0;
    return {
      checked,
      fail: (id) => void decoder.failing.add(id),
      withhold: (id) => {
        numWithheld += 1;
        decoder.withheld.add(id);
      },
      seen: () => ({
        joinedRuns: decoder.numJoinedRuns,
        deadTokens: decoder.numDeadTokens,
        snapshots: [...(cache?.snapshots ?? [])].length,
        stepsInParts: decoder.numExecutions - checked.engine.stats.numSteps,
        withheld: numWithheld,
        ...draftsOf(checked),
      }),
    };
  });

/** Beside layers with a sliding window, whose memory behind it is given back. */
const withWindows: fc.Arbitrary<() => Subject> = fc
  .record({
    ...limits,
    extraTokens: fc.nat(8),
    spareSlots: fc.integer({ min: 0, max: 4 }),
    // Beyond what the longest sequence needs.
    sparePages: fc.option(fc.nat(6), { nil: undefined }),
    layer: fc.record({
      width: fc.constant(6),
      windowedWidth: fc.integer({ min: 1, max: 6 }),
      pageLength: fc.constantFrom(2, 4),
      window: fc.integer({ min: 1, max: 12 }),
      margin: fc.integer({ min: 1, max: 4 }),
      leastGivenBack: fc.integer({ min: 1, max: 8 }),
    }),
  })
  .map(({ spareSlots, prefixCaching, sparePages, layer, ...rest }) => () => {
    const shape = shapeOf(rest);
    const ofSteps = { stepTokens: shape.maxNumBatchedTokens, prefixCaching };
    const windows = new WindowBudget({ ...layer, ...ofSteps, capacity: CAPACITY });
    const checked = CheckedEngine.withSlots({
      ...shape,
      spareSlots,
      prefixCaching,
      windows,
      pageLength: layer.pageLength,
      ...(sparePages === undefined ? {} : { maxPages: windows.pagesOf(CAPACITY) + sparePages }),
    });
    const { decoder, windows: seen } = checked.memory;
    return {
      checked,
      fail: (id) => void decoder.failing.add(id),
      seen: () => ({
        joinedRuns: decoder.numJoinedRuns,
        deadTokens: decoder.numDeadTokens,
        givenBack: seen?.numGivenBack ?? 0,
        partCopies: seen?.numPartCopies ?? 0,
        ...draftsOf(checked),
      }),
    };
  });

const inBlocks: fc.Arbitrary<() => Subject> = fc
  .record({
    ...limits,
    pageLength: fc.constantFrom(4, 16),
    spareBlocks: fc.integer({ min: 0, max: 12 }),
  })
  .map(({ spareBlocks, prefixCaching, pageLength, ...rest }) => () => {
    const shape = shapeOf(rest);
    const numPages = CAPACITY / pageLength + spareBlocks;
    const memory = new CheckedPages({ ...shape, pageLength, numPages, prefixCaching });
    const checked = new CheckedEngine({ ...shape, isShort: true }, memory);
    return {
      checked,
      // A run that fails takes the engine down there.
      fail: (id) => checked.engine.abort(id),
      seen: () => ({ mixedRuns: memory.model.numMixedRuns, ...draftsOf(checked) }),
    };
  });

const requests = fc.record({
  // Few distinct beginnings, so that prompts share prefixes of all lengths, and whole prompts.
  promptTokenIds: fc
    .tuple(
      fc.integer({ min: 0, max: 1 }),
      fc.oneof(fc.constantFrom(4, 16, 32), fc.integer({ min: 0, max: 32 })),
      fc.oneof(
        { weight: 2, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(fc.nat(FAKE_VOCAB_SIZE - 1), { maxLength: 6 }) },
        { weight: 1, arbitrary: fc.array(fc.nat(FAKE_VOCAB_SIZE - 1), { maxLength: 32 }) },
      ),
    )
    .map(([family, shared, own]) => {
      const beginning = Array.from(
        { length: shared },
        (_, i) => (i * 7 + family) % FAKE_VOCAB_SIZE,
      );
      const tokenIds = [...beginning, ...own].slice(0, 32);
      return Int32Array.from(tokenIds.length > 0 ? tokenIds : [5]);
    }),
  priority: fc.integer({ min: -1, max: 1 }),
  tier: fc.constantFrom(0, 0, 0, 1, 2),
  // From one that every step keeps to, to one that none does.
  targetItlMs: fc.constantFrom(null, null, 0.001, 10, 1000),
  cacheSalt: fc.constantFrom('', '', 'tenant'),
  maxTokens: fc.integer({ min: 1, max: 60 }),
  stopTokenIds: fc.array(fc.integer({ min: 0, max: FAKE_VOCAB_SIZE - 1 }), { maxLength: 1 }),
  resumedTokens: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 15 })),
});

const operations = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('add' as const), request: requests }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('step' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('abort' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fail' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('stray' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('withhold' as const), pick: fc.nat() }) },
);

describe.each([
  ['slots', inSlots],
  ['slots, and with states', withStates],
  ['slots, and with windows', withWindows],
  ['blocks', inBlocks],
])('the engine over a fake model with its KV cache in %s', (_, subjects) => {
  it('gives every request its own text, whatever else comes and goes', () => {
    const seen: Record<string, number> = {};
    const count = (counts: Readonly<Record<string, number>>) => {
      for (const [what, times] of Object.entries(counts)) seen[what] = (seen[what] ?? 0) + times;
    };
    fc.assert(
      fc.property(
        subjects,
        fc.array(operations, { minLength: 10, maxLength: 80, size: 'max' }),
        (open, script) => {
          const { checked, fail, withhold, seen: seenOnlyThere } = open();
          const submitted = new Map<number, EngineRequest>();
          const dropped = new Set<number>();
          const add = (fields: Partial<EngineRequest>) => {
            const id = submitted.size + 1;
            const request = engineRequest({ ...fields, id, arrivalMs: id * 1000 });
            submitted.set(id, request);
            checked.engine.add(request);
            return id;
          };
          const liveOne = (pick: number) => {
            const live = [...checked.scheduler.running, ...checked.scheduler.waiting];
            return live[pick % Math.max(1, live.length)]?.id;
          };
          const drop = (pick: number, how: (id: number) => void) => {
            const id = liveOne(pick);
            if (id === undefined) return;
            dropped.add(id);
            how(id);
          };
          for (const operation of script) {
            if (operation.type === 'step') checked.step();
            if (operation.type === 'add') {
              const { resumedTokens, ...rest } = operation.request;
              const whole = fakeContinuation(engineRequest({ ...rest, stopTokenIds: [] }));
              const generated = whole.slice(0, Math.min(resumedTokens, rest.maxTokens - 1));
              const priority = rest.priority + 100 * rest.tier;
              add({ ...rest, priority, outputTokenIds: Int32Array.from(generated) });
            }
            if (operation.type === 'abort') {
              drop(operation.pick, (id) => checked.engine.abort(id));
            }
            if (operation.type === 'fail') drop(operation.pick, fail);
            if (operation.type === 'withhold') {
              const id = liveOne(operation.pick);
              if (id !== undefined) withhold?.(id);
            }
            if (operation.type === 'stray') {
              dropped.add(add({ promptTokenIds: Int32Array.of(1, STRAY_TOKEN, 2) }));
            }
          }
          checked.runToEnd();
          for (const [id, request] of submitted) {
            const outputs = checked.outputs.get(id) ?? [];
            const tokens = checked.tokensOf(id);
            const expected = fakeContinuation(request);
            const wasDropped = dropped.has(id);
            expect(tokens).toEqual(wasDropped ? expected.slice(0, tokens.length) : expected);
            const stopped = request.stopTokenIds.includes(expected.at(-1) ?? -1);
            const finished = outputs.at(-1)?.finishReason === (stopped ? 'stop' : 'length');
            expect(finished || wasDropped).toBe(true);
          }
          expect(checked.memory.kvCache.usage).toBe(0);
          const { stats } = checked.engine;
          count({
            preemptions: stats.numPreemptions,
            yields: stats.numYields,
            prefixHits: Number(stats.prefixCacheHits > 0),
            copies: checked.numCopies,
            failures: [...checked.outputs.values()].filter((all) => all.at(-1)?.error).length,
            ...seenOnlyThere(),
          });
        },
      ),
      { numRuns: orLong(300, 3000) },
    );
    // The random runs must have been through everything, or they prove little.
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(20);
  });
});

describe('the engine', () => {
  it('refuses what cannot run', () => {
    const { engine } = CheckedEngine.withSlots({
      maxNumSeqs: 2,
      capacity: 10,
      maxNumBatchedTokens: 8,
    });
    const empty = engineRequest({ promptTokenIds: new Int32Array() });
    expect(() => engine.add(empty)).toThrow('the prompt is empty');
    expect(() => engine.add(engineRequest({ maxTokens: 8 }))).toThrow(
      '3 prompt tokens and 8 more do not fit the KV cache: a sequence has 10 positions at most',
    );
  });

  it('computes a long prompt in chunks while others decode', () => {
    const shape = { maxNumSeqs: 2, capacity: 48, maxNumBatchedTokens: 5, targetItlMs: 1000 };
    const checked = CheckedEngine.withSlots(shape);
    checked.engine.add(engineRequest({ id: 1, maxTokens: 20 }));
    checked.step();
    const promptTokenIds = Int32Array.from({ length: 28 }, (_, index) => index);
    checked.engine.add(engineRequest({ id: 2, promptTokenIds, maxTokens: 1 }));
    // 4 of 28 tokens at a time, with the decoding sequence: more would pass the token budget.
    for (let step = 1; step <= 7; step++) {
      expect(checked.outputs.get(2)).toBeUndefined();
      checked.step();
      expect(checked.outputs.get(1)).toHaveLength(1 + step);
    }
    expect(checked.outputs.get(2)).toHaveLength(1);
  });

  it('frees the slot of an aborted sequence for the next iteration', () => {
    const checked = CheckedEngine.withSlots({
      maxNumSeqs: 1,
      capacity: 48,
      maxNumBatchedTokens: 48,
    });
    checked.engine.add(engineRequest({ id: 1, maxTokens: 40 }));
    checked.engine.add(engineRequest({ id: 2, maxTokens: 1 }));
    checked.step();
    checked.step();
    expect(checked.outputs.get(2)).toBeUndefined();
    checked.engine.abort(1);
    checked.step();
    expect(checked.outputs.get(2)?.at(-1)?.finishReason).toBe('length');
    expect(checked.engine.stats).toMatchObject({ numRunning: 0, numWaiting: 0, kvCacheUsage: 0 });
  });

  it('fails a sequence whose logits are not numbers, and only that one', () => {
    const checked = CheckedEngine.withSlots({
      maxNumSeqs: 2,
      capacity: 48,
      maxNumBatchedTokens: 48,
    });
    const { decoder } = checked.memory;
    const execute = decoder.execute.bind(decoder);
    decoder.execute = (plan) => {
      const result = execute(plan);
      for (const { segment, logits } of result.logits) {
        if (segment.sequence.id === 1) logits[0]?.fill(NaN);
      }
      return result;
    };
    checked.engine.add(engineRequest({ id: 1 }));
    checked.engine.add(engineRequest({ id: 2 }));
    while (checked.engine.hasWork) checked.step();
    expect(checked.outputs.get(1)).toEqual([
      {
        id: 1,
        tokenId: -1,
        finishReason: 'error',
        error: 'the model computed no valid logits',
      },
    ]);
    expect(checked.outputs.get(2)).toHaveLength(8);
  });
});
