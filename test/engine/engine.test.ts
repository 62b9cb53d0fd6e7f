import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineRequest } from '../../src/engine/request.ts';
import { CheckedEngine } from '../support/checked-engine.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { FAKE_VOCAB_SIZE, fakeContinuation } from '../support/fake-decoder.ts';
import { RandomDrafts } from '../support/random-drafts.ts';

const shapes = fc
  .record({
    numRows: fc.integer({ min: 2, max: 8 }),
    extraTokens: fc.integer({ min: 0, max: 120 }),
    spareRows: fc.integer({ min: 0, max: 4 }),
    prefixCaching: fc.boolean(),
    blockSize: fc.constantFrom(16, 32),
    // From just enough for the longest sequence to enough for most.
    budget: fc.option(fc.integer({ min: 6, max: 8 }), { nil: undefined }),
    drafts: fc.option(fc.record({ seed: fc.nat(), isFree: fc.boolean() }), { nil: undefined }),
  })
  .map(({ numRows, extraTokens, spareRows, prefixCaching, blockSize, budget, drafts }) => ({
    numRows,
    capacity: 96,
    maxNumBatchedTokens: numRows + extraTokens,
    spareRows,
    prefixCaching,
    blockSize,
    ...(budget === undefined ? {} : { maxBlocks: Math.floor((budget * 16) / blockSize) }),
    ...(drafts === undefined ? {} : { drafts: new RandomDrafts(drafts.seed, drafts.isFree) }),
  }));

const requests = fc.record({
  // Few distinct beginnings, so that prompts share prefixes of all lengths.
  promptTokenIds: fc
    .tuple(
      fc.integer({ min: 0, max: 2 }),
      fc.integer({ min: 0, max: 32 }),
      fc.array(fc.integer({ min: 0, max: FAKE_VOCAB_SIZE - 1 }), { minLength: 1, maxLength: 32 }),
    )
    .map(([family, shared, own]) => {
      const beginning = Array.from(
        { length: shared },
        (_, i) => (i * 7 + family) % FAKE_VOCAB_SIZE,
      );
      return Int32Array.from([...beginning, ...own].slice(0, 32));
    }),
  priority: fc.integer({ min: -1, max: 1 }),
  cacheSalt: fc.constantFrom('', '', 'tenant'),
  maxTokens: fc.integer({ min: 1, max: 60 }),
  stopTokenIds: fc.array(fc.integer({ min: 0, max: FAKE_VOCAB_SIZE - 1 }), { maxLength: 1 }),
  resumedTokens: fc.integer({ min: 0, max: 15 }),
});

const operations = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('add' as const), request: requests }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('step' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('abort' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fail' as const), pick: fc.nat() }) },
);

describe('the engine over a fake decoder', () => {
  it('gives every request its own text, whatever else comes and goes', () => {
    const seen = {
      preemptions: 0,
      prefixHits: 0,
      joinedRuns: 0,
      copies: 0,
      discards: 0,
      verifyRuns: 0,
      acceptedTokens: 0,
      rejectedTokens: 0,
    };
    fc.assert(
      fc.property(
        shapes,
        fc.array(operations, { minLength: 10, maxLength: 80, size: 'max' }),
        (shape, script) => {
          const checked = new CheckedEngine(shape);
          const submitted = new Map<number, EngineRequest>();
          const dropped = new Set<number>();
          const pickLive = (pick: number) => {
            const ids = [...checked.scheduler.running, ...checked.scheduler.waiting].map(
              (s) => s.id,
            );
            return ids[pick % Math.max(1, ids.length)];
          };
          for (const operation of script) {
            if (operation.type === 'step') checked.step();
            if (operation.type === 'add') {
              const { resumedTokens, ...rest } = operation.request;
              const id = submitted.size + 1;
              const whole = fakeContinuation(engineRequest({ ...rest, stopTokenIds: [] }));
              const generated = whole.slice(0, Math.min(resumedTokens, rest.maxTokens - 1));
              const outputTokenIds = Int32Array.from(generated);
              const request = engineRequest({ id, ...rest, arrivalMs: id * 1000, outputTokenIds });
              submitted.set(id, request);
              checked.engine.add(request);
            }
            if (operation.type === 'abort') {
              const id = pickLive(operation.pick);
              if (id === undefined) continue;
              dropped.add(id);
              checked.engine.abort(id);
            }
            if (operation.type === 'fail') {
              const id = pickLive(operation.pick);
              if (id === undefined) continue;
              dropped.add(id);
              checked.decoder.failing.add(id);
            }
          }
          for (let steps = 0; checked.engine.hasWork; steps++) {
            // Nothing starves: every step computes something, so this bound is generous.
            expect(steps).toBeLessThan(5000);
            checked.step();
          }
          for (const [id, request] of submitted) {
            const outputs = checked.outputs.get(id) ?? [];
            const tokens = outputs.filter(({ tokenId }) => tokenId >= 0).map((o) => o.tokenId);
            const expected = fakeContinuation(request);
            const wasDropped = dropped.has(id);
            expect(tokens).toEqual(wasDropped ? expected.slice(0, tokens.length) : expected);
            const stopped = request.stopTokenIds.includes(expected.at(-1) ?? -1);
            const finished = outputs.at(-1)?.finishReason === (stopped ? 'stop' : 'length');
            expect(finished || wasDropped).toBe(true);
          }
          expect(checked.kvCache.extent).toBe(0);
          expect(checked.kvCache.usage).toBe(0);
          seen.preemptions += checked.engine.stats.numPreemptions;
          seen.prefixHits += Number(checked.engine.stats.prefixCacheHits > 0);
          seen.joinedRuns += checked.numJoinedRuns;
          seen.copies += checked.numCopies;
          seen.discards += checked.numDiscards;
          const { numDraftTokens, numAcceptedTokens } = checked.engine.stats;
          seen.verifyRuns += checked.numVerifyRuns;
          seen.acceptedTokens += numAcceptedTokens;
          seen.rejectedTokens += numDraftTokens - numAcceptedTokens;
        },
      ),
      { numRuns: 400 },
    );
    // The random runs must have been through everything, or they prove little.
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(20);
  });

  it('refuses what can not run', () => {
    const { engine } = new CheckedEngine({ numRows: 2, capacity: 10, maxNumBatchedTokens: 8 });
    const empty = engineRequest({ promptTokenIds: new Int32Array() });
    expect(() => engine.add(empty)).toThrow('the prompt is empty');
    expect(() => engine.add(engineRequest({ maxTokens: 8 }))).toThrow(
      '3 prompt tokens and 8 more do not fit the KV cache: a sequence has 10 positions at most',
    );
  });

  it('computes a long prompt in chunks while others decode', () => {
    const shape = { numRows: 2, capacity: 48, maxNumBatchedTokens: 5, targetItlMs: 1000 };
    const checked = new CheckedEngine(shape);
    checked.engine.add(engineRequest({ id: 1, maxTokens: 20 }));
    checked.step();
    const promptTokenIds = Int32Array.from({ length: 28 }, (_, index) => index);
    checked.engine.add(engineRequest({ id: 2, promptTokenIds, maxTokens: 1 }));
    // 4 of 28 tokens at a time, beside the decoding sequence: more would pass the token budget.
    for (let step = 1; step <= 7; step++) {
      expect(checked.outputs.get(2)).toBeUndefined();
      checked.step();
      expect(checked.outputs.get(1)).toHaveLength(1 + step);
    }
    expect(checked.outputs.get(2)).toHaveLength(1);
  });

  it('frees the row of an aborted sequence for the next iteration', () => {
    const checked = new CheckedEngine({ numRows: 1, capacity: 48, maxNumBatchedTokens: 48 });
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
    const checked = new CheckedEngine({ numRows: 2, capacity: 48, maxNumBatchedTokens: 48 });
    const execute = checked.decoder.execute.bind(checked.decoder);
    checked.decoder.execute = (plan) => {
      const result = execute(plan);
      for (const { sequence, logits } of result.rows) if (sequence.id === 1) logits.fill(NaN);
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
