import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CostModel } from '../../../src/engine/costs/cost-model.ts';
import { ScheduledRun, type ScheduledRunOptions } from '../../support/scheduled-run.ts';

/** Tier of a batch: worse than what is usual. */
const BATCH = { tier: 1000, priority: 1000 };
/** Better, and with a promise about its pace. */
const INTERACTIVE = { tier: -10, priority: -10 };

/** A machine on which a decode run takes 2 ms and 1 ms for each sequence. */
function linearCosts(): CostModel {
  const costs = new CostModel();
  for (let round = 0; round < 200; round++) {
    const length = 1 + (round % 8);
    const decode = Array.from({ length }, () => ({ start: 0, length: 1 }));
    costs.observe({ decode, prefill: [], verify: [], ms: 2 + length });
  }
  return costs;
}

/** Eight batch requests that decode. */
function batchRun(options: ScheduledRunOptions = {}): ScheduledRun {
  const run = new ScheduledRun({
    maxNumSeqs: 8,
    prefixCaching: true,
    costs: linearCosts(),
    ...options,
  });
  for (let id = 1; id <= 8; id++) run.add(id, 20, BATCH);
  run.step();
  run.step();
  return run;
}

describe('a request of a better tier', () => {
  it('gets a slot at once where others have them all, and the last of those waits', () => {
    const run = batchRun();
    run.add(9, 4);
    expect(run.step()).toMatchObject({ 9: 'tokens 0 to 3' });
    expect([run.running, run.waiting]).toEqual([[9, 1, 2, 3, 4, 5, 6, 7], [8]]);
    expect(run.scheduler.counters).toMatchObject({ numYields: 1, numPreemptions: 0 });
  });

  it('costs the one that yields little: what it had computed is found again', () => {
    const run = batchRun();
    for (let step = 0; step < 20; step++) run.step();
    run.add(9, 4, { maxTokens: 1 });
    run.step();
    expect(run.waiting).toEqual([8]);
    // Its prompt of 20 tokens and 22 more: all but those of a block that is not full.
    const { 8: resumed } = run.step();
    expect(resumed).toMatch(/^token(s 4\d to)? 41$|^tokens 4\d to 4\d$/);
  });

  it('gets memory too', () => {
    // Six sequences of two pages of 16 positions each have all that may be given out.
    const run = batchRun({ maxPages: 17 });
    expect(run.running).toHaveLength(6);
    run.add(9, 60);
    expect(run.step()).toMatchObject({ 9: 'tokens 0 to 59' });
    expect(run.running).toContain(9);
  });

  it('is computed before prompts of worse tiers, at the full pace', () => {
    const run = batchRun();
    run.scheduler.abort(8);
    run.scheduler.abort(7);
    run.add(9, 300, BATCH);
    run.add(10, 300);
    const step = run.step();
    expect(step).toMatchObject({ 10: 'tokens 0 to 299' });
    expect(step).not.toHaveProperty('9');
    // Nobody of its tier decodes yet that a prompt of 300 tokens would hold up: 2 at a time else.
    expect(run.step()).toMatchObject({
      9: expect.stringMatching(/^tokens 0 to \d$/),
      10: 'token 300',
    });
  });

  it('is not overtaken by worse tiers while it waits for memory', () => {
    const run = new ScheduledRun({ maxNumSeqs: 4, maxPages: 12 });
    run.add(1, 100);
    run.step();
    run.add(2, 150);
    run.add(3, 4, BATCH);
    run.step();
    expect([run.running, run.waiting]).toEqual([[1], [2, 3]]);
  });
});

describe('a time between tokens that a stream is promised', () => {
  it('shrinks what others have of the batch until a step is short enough', () => {
    const run = batchRun();
    // 2 ms and 1 for each. While its prompt is computed the others have half of the time, ...
    run.add(9, 4, { ...INTERACTIVE, targetItlMs: 9.5 });
    expect(Object.keys(run.step())).toEqual(['1', '9']);
    // ... then there is time for 7 in all, and for 5 so that one more could join.
    run.step();
    expect(run.running).toEqual([9, 1, 2, 3, 4]);
    // They do not come and go at each step.
    const { numYields } = run.scheduler.counters;
    for (let step = 0; step < 10; step++) run.step();
    expect(run.scheduler.counters.numYields).toBe(numYields);
    run.scheduler.abort(9);
    run.step();
    expect(run.running).toHaveLength(8);
  });

  it('leaves one of each worse tier its slot, and one step in twenty, however little time there is', () => {
    const run = batchRun();
    run.add(9, 4, { ...INTERACTIVE, targetItlMs: 0.1 });
    run.step();
    run.step();
    expect(run.running).toEqual([9, 1]);
    const steps = Array.from({ length: 60 }, () => run.step());
    expect(steps.every((step) => '9' in step)).toBe(true);
    expect(steps.filter((step) => '1' in step)).toHaveLength(3);
    // Alone it has all of them again.
    run.scheduler.abort(9);
    expect(run.step()).toHaveProperty('1');
    expect(run.step()).toHaveProperty('1');
  });

  it('does nothing to streams of the same tier', () => {
    const run = new ScheduledRun({ maxNumSeqs: 8, costs: linearCosts() });
    for (let id = 1; id <= 8; id++) run.add(id, 4, { ...INTERACTIVE, targetItlMs: 0.1 });
    run.step();
    run.step();
    expect(run.running).toHaveLength(8);
  });

  it('bounds the chunks of prompts', () => {
    const chunkWith = (targetItlMs: number) => {
      const run = new ScheduledRun({ costs: linearCosts() });
      run.add(1, 4, { ...INTERACTIVE, targetItlMs });
      run.step();
      run.add(2, 400, BATCH);
      run.step();
      return run.scheduler.running[1]?.numComputedTokens ?? 0;
    };
    expect(chunkWith(0.1)).toBe(0);
    expect(chunkWith(100)).toBeGreaterThan(20);
    expect(chunkWith(50)).toBeLessThan(chunkWith(100));
  });

  it('cannot starve prompts: some steps have a chunk, however little time there is', () => {
    const run = new ScheduledRun({ costs: linearCosts() });
    run.add(1, 4, { ...INTERACTIVE, targetItlMs: 0.1, maxTokens: 100 });
    run.step();
    run.add(2, 400, BATCH);
    const computed = Array.from({ length: 40 }, () => {
      run.step();
      return run.scheduler.running[1]?.numComputedTokens ?? 0;
    });
    const late = new Set(computed).size - 1;
    expect(late).toBeGreaterThanOrEqual(2);
    expect(late).toBeLessThanOrEqual(4);
  });
});

it('keeps its word over any traffic', () => {
  const arrivals = fc.record({
    after: fc.integer({ min: 0, max: 6 }),
    numPromptTokens: fc.integer({ min: 1, max: 90 }),
    maxTokens: fc.integer({ min: 1, max: 30 }),
    tier: fc.constantFrom(-10, 0, 1000),
    targetItlMs: fc.constantFrom(null, 4.5, 7.5, 100),
  });
  const costs = linearCosts();
  fc.assert(
    fc.property(fc.array(arrivals, { minLength: 5, maxLength: 40 }), (requests) => {
      const run = new ScheduledRun({ maxNumSeqs: 6, maxPages: 40, prefixCaching: true, costs });
      const numTokens = new Map<number, number>();
      const step = () => {
        run.step();
        for (const { id } of run.outputs) numTokens.set(id, (numTokens.get(id) ?? 0) + 1);
        const running = run.scheduler.running.map(({ request }) => request);
        const waiting = run.scheduler.waiting.map(({ request }) => request);
        // Nobody holds up the best tier: while one of it waits, all slots are its own.
        const isWaiting = waiting.some(({ tier }) => tier === -10);
        const isHeldUp = isWaiting && running.length === 6;
        expect(isHeldUp && running.some(({ tier }) => tier > -10)).toBe(false);
      };
      for (const [index, { after, numPromptTokens, ...fields }] of requests.entries()) {
        for (let count = 0; count < after; count++) step();
        run.add(index + 1, numPromptTokens, { ...fields, priority: fields.tier, arrivalMs: 0 });
      }
      for (let count = 0; run.scheduler.hasWork; count++) {
        expect(count).toBeLessThan(5000);
        step();
      }
      for (const [index, { maxTokens }] of requests.entries()) {
        expect(numTokens.get(index + 1)).toBe(maxTokens);
      }
    }),
    { numRuns: 100 },
  );
});
