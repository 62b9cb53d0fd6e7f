import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KvCache } from '../../src/engine/kv-cache.ts';
import type { EngineRequest } from '../../src/engine/messages.ts';
import { Scheduler } from '../../src/engine/scheduler.ts';
import { CheckedEngine } from '../support/checked-engine.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { FAKE_VOCAB_SIZE, fakeNextToken } from '../support/fake-decoder.ts';

/** What the request gives on an engine of its own. */
function expectedTokens({
  promptTokenIds,
  outputTokenIds,
  maxTokens,
  stopTokenIds,
}: EngineRequest) {
  const text = [...promptTokenIds, ...outputTokenIds];
  const tokens: number[] = [];
  while (tokens.length + outputTokenIds.length < maxTokens) {
    const next = fakeNextToken(text);
    text.push(next);
    tokens.push(next);
    if (stopTokenIds.includes(next)) break;
  }
  return tokens;
}

const shapes = fc
  .record({ numRows: fc.integer({ min: 1, max: 6 }), extraTokens: fc.integer({ min: 0, max: 40 }) })
  .map(({ numRows, extraTokens }) => ({
    numRows,
    capacity: 48,
    maxNumBatchedTokens: numRows + extraTokens,
  }));

const requests = fc.record({
  promptTokenIds: fc
    .array(fc.integer({ min: 0, max: FAKE_VOCAB_SIZE - 1 }), { minLength: 1, maxLength: 32 })
    .map((ids) => Int32Array.from(ids)),
  maxTokens: fc.integer({ min: 1, max: 16 }),
  stopTokenIds: fc.array(fc.integer({ min: 0, max: FAKE_VOCAB_SIZE - 1 }), { maxLength: 3 }),
  resumedTokens: fc.integer({ min: 0, max: 15 }),
});

const operations = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('add' as const), request: requests }) },
  { weight: 6, arbitrary: fc.record({ type: fc.constant('step' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('abort' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('fail' as const), pick: fc.nat() }) },
);

describe('the engine over a fake decoder', () => {
  it('gives every request its own text, whatever else comes and goes', () => {
    fc.assert(
      fc.property(shapes, fc.array(operations, { maxLength: 60 }), (shape, script) => {
        const checked = new CheckedEngine(shape);
        const submitted = new Map<number, EngineRequest>();
        const dropped = new Set<number>();
        const pickLive = (pick: number) => {
          const ids = [...checked.scheduler.running, ...checked.scheduler.waiting].map((s) => s.id);
          return ids[pick % Math.max(1, ids.length)];
        };
        for (const operation of script) {
          if (operation.type === 'step') checked.step();
          if (operation.type === 'add') {
            const { resumedTokens, ...rest } = operation.request;
            const id = submitted.size + 1;
            const whole = expectedTokens(engineRequest({ ...rest, stopTokenIds: [] }));
            const generated = whole.slice(0, Math.min(resumedTokens, rest.maxTokens - 1));
            const outputTokenIds = Int32Array.from(generated);
            const request = engineRequest({ id, ...rest, outputTokenIds });
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
          const expected = expectedTokens(request);
          const wasDropped = dropped.has(id);
          expect(tokens).toEqual(wasDropped ? expected.slice(0, tokens.length) : expected);
          const stopped = request.stopTokenIds.includes(expected.at(-1) ?? -1);
          const finished = outputs.at(-1)?.finishReason === (stopped ? 'stop' : 'length');
          expect(finished || wasDropped).toBe(true);
        }
        expect(checked.kvCache.numFreeRows).toBe(shape.numRows);
        expect(checked.kvCache.usage).toBe(0);
      }),
      { numRuns: 1000 },
    );
  });

  it('refuses what can not run', () => {
    const { engine } = new CheckedEngine({ numRows: 2, capacity: 10, maxNumBatchedTokens: 8 });
    const empty = engineRequest({ promptTokenIds: new Int32Array() });
    expect(() => engine.add(empty)).toThrow('the prompt is empty');
    expect(() => engine.add(engineRequest({ maxTokens: 8 }))).toThrow(
      '3 prompt tokens and 8 more do not fit 10 positions',
    );
    expect(() => new Scheduler(new KvCache(8, 16), 7)).toThrow(RangeError);
  });

  it('computes a long prompt in chunks while others decode', () => {
    const checked = new CheckedEngine({ numRows: 2, capacity: 48, maxNumBatchedTokens: 8 });
    checked.engine.add(engineRequest({ id: 1, maxTokens: 20 }));
    checked.step();
    const promptTokenIds = Int32Array.from({ length: 28 }, (_, index) => index);
    checked.engine.add(engineRequest({ id: 2, promptTokenIds, maxTokens: 1 }));
    // 7 of 28 tokens at a time, beside the decoding sequence.
    for (let step = 1; step <= 4; step++) {
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
    const { execute } = checked.decoder;
    checked.decoder.execute = (plan) => {
      const result = execute.call(checked.decoder, plan);
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
