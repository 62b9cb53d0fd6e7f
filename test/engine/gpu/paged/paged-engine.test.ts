import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineRequest } from '../../../../src/engine/request.ts';
import { engineRequest } from '../../../support/engine-requests.ts';
import { FAKE_VOCAB_SIZE, fakeContinuation } from '../../../support/fake-decoder.ts';
import { CAPACITY, PagedEngine } from '../../../support/paged-engine.ts';

/** Outside of the vocabulary. */
const STRAY_TOKEN = FAKE_VOCAB_SIZE;

const shapes = fc
  .record({
    numRows: fc.integer({ min: 2, max: 8 }),
    blockSize: fc.constantFrom(4, 16),
    // From just enough for the longest sequence to enough for most.
    spareBlocks: fc.integer({ min: 0, max: 12 }),
    extraTokens: fc.integer({ min: 0, max: 120 }),
    prefixCaching: fc.boolean(),
    draftSeed: fc.option(fc.nat()),
  })
  .map(({ spareBlocks, extraTokens, ...shape }) => ({
    ...shape,
    numBlocks: CAPACITY / shape.blockSize + spareBlocks,
    maxNumBatchedTokens: shape.numRows + extraTokens,
  }));

const requests = fc.record({
  // Few distinct beginnings, so that prompts share prefixes of all lengths, and whole prompts.
  promptTokenIds: fc
    .tuple(
      fc.integer({ min: 0, max: 1 }),
      fc.oneof(fc.constantFrom(4, 16, 32), fc.integer({ min: 0, max: 32 })),
      fc.oneof(fc.constant([]), fc.array(fc.nat(FAKE_VOCAB_SIZE - 1), { maxLength: 6 })),
    )
    .map(([family, shared, own]) => {
      const beginning = Array.from(
        { length: shared },
        (_, i) => (i * 7 + family) % FAKE_VOCAB_SIZE,
      );
      return Int32Array.of(...beginning, ...own, ...(shared + own.length === 0 ? [5] : []));
    }),
  priority: fc.integer({ min: -1, max: 1 }),
  cacheSalt: fc.constantFrom('', '', 'tenant'),
  maxTokens: fc.integer({ min: 1, max: 50 }),
});

const operations = fc.oneof(
  { weight: 3, arbitrary: fc.record({ type: fc.constant('add' as const), request: requests }) },
  { weight: 8, arbitrary: fc.record({ type: fc.constant('step' as const) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('abort' as const), pick: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('stray' as const) }) },
);

describe('the engine over a paged cache', () => {
  it('gives every request its own text, whatever else comes and goes', () => {
    const seen = { preemptions: 0, prefixHits: 0, copies: 0, mixedRuns: 0, accepted: 0, errors: 0 };
    fc.assert(
      fc.property(
        shapes,
        fc.array(operations, { minLength: 10, maxLength: 80, size: 'max' }),
        (shape, script) => {
          const paged = new PagedEngine(shape);
          const submitted = new Map<number, EngineRequest>();
          const dropped = new Set<number>();
          const add = (request: Partial<EngineRequest>) => {
            const id = submitted.size + 1;
            const whole = engineRequest({ ...request, id, arrivalMs: id * 1000 });
            submitted.set(id, whole);
            paged.engine.add(whole);
            return id;
          };
          for (const operation of script) {
            if (operation.type === 'step') paged.step();
            if (operation.type === 'add') add(operation.request);
            if (operation.type === 'stray') {
              dropped.add(add({ promptTokenIds: Int32Array.of(1, STRAY_TOKEN, 2) }));
            }
            if (operation.type === 'abort') {
              const live = [...paged.scheduler.running, ...paged.scheduler.waiting];
              const id = live[operation.pick % Math.max(1, live.length)]?.id;
              if (id === undefined) continue;
              dropped.add(id);
              paged.engine.abort(id);
            }
          }
          for (let steps = 0; paged.engine.hasWork; steps++) {
            expect(steps).toBeLessThan(5000);
            paged.step();
          }
          for (const [id, request] of submitted) {
            const tokens = paged.tokens.get(id) ?? [];
            const expected = fakeContinuation(request);
            expect(tokens).toEqual(dropped.has(id) ? expected.slice(0, tokens.length) : expected);
            expect(paged.errors.has(id) && !dropped.has(id)).toBe(false);
          }
          expect(paged.kvCache.extent).toBe(0);
          expect(paged.kvCache.usage).toBe(0);
          const { stats } = paged.engine;
          seen.preemptions += stats.numPreemptions;
          seen.prefixHits += Number(stats.prefixCacheHits > 0);
          seen.copies += paged.numCopies;
          seen.mixedRuns += paged.model.numMixedRuns;
          seen.accepted += stats.numAcceptedTokens;
          seen.errors += paged.errors.size;
        },
      ),
      { numRuns: 200 },
    );
    // The random runs must have been through everything, or they prove little.
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(20);
  });

  it('computes decode, prefill and everything else of a step in one run', () => {
    const paged = new PagedEngine({
      numRows: 3,
      blockSize: 16,
      numBlocks: 20,
      maxNumBatchedTokens: 40,
      prefixCaching: false,
      draftSeed: null,
      targetItlMs: 1000,
    });
    paged.engine.add(engineRequest({ id: 1, maxTokens: 10 }));
    paged.step();
    paged.engine.add(engineRequest({ id: 2, promptTokenIds: Int32Array.of(4, 5, 6, 7) }));
    paged.engine.add(engineRequest({ id: 3, promptTokenIds: Int32Array.of(8, 9) }));
    paged.step();
    expect(paged.model).toMatchObject({ numRuns: 2, numMixedRuns: 1 });
    expect([...paged.tokens.keys()]).toEqual([1, 2, 3]);
  });
});
