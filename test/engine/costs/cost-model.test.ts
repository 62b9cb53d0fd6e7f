import { describe, expect, it } from 'vitest';
import { CostModel } from '../../../src/engine/costs/cost-model.ts';
import type { TimedRun } from '../../../src/engine/timed-run.ts';

const NOTHING: TimedRun = { decode: [], prefill: [], verify: [], ms: 0 };

const decodeAt = (start: number, numSlots = 1) =>
  Array.from({ length: numSlots }, () => ({ start, length: 1 }));
const chunkOf = (length: number) => [{ start: 0, length }];

describe('the cost model', () => {
  it('learns what prefill costs, alone and mixed with decode', () => {
    const costs = new CostModel();
    for (let step = 0; step < 300; step++) {
      const length = 16 + ((step * 31) % 400);
      const [decode, prefill] = [decodeAt(0, 4), chunkOf(length)];
      costs.observe({ ...NOTHING, prefill, ms: 10 + 0.5 * length });
      costs.observe({ ...NOTHING, decode, ms: 20 });
      costs.observe({ ...NOTHING, decode, prefill, ms: 20 + 0.3 * length });
    }
    expect(costs.prefillMs(chunkOf(100))).toBeCloseTo(60, -0.5);
    expect(costs.mixedPrefillMs(chunkOf(100))).toBeCloseTo(30, -0.5);
  });

  it('learns both from steps that are one run, some of them without prefill', () => {
    const costs = new CostModel({ runsStepsWhole: true });
    for (let step = 0; step < 400; step++) {
      const [numSlots, numTokens] = [1 + (step % 8), step % 3 === 0 ? 16 * (1 + (step % 5)) : 0];
      const ms = 2 + 0.5 * numSlots + 0.05 * numTokens;
      const decode = decodeAt(100, numSlots);
      costs.observe({ ...NOTHING, decode, prefill: numTokens > 0 ? chunkOf(numTokens) : [], ms });
    }
    expect(costs.decodeMs(decodeAt(100, 4))).toBeCloseTo(4, 0);
    const whole = costs.decodeMs(decodeAt(100, 4)) + costs.mixedPrefillMs(chunkOf(64));
    expect(whole).toBeGreaterThan(0.8 * 7.2);
    expect(whole).toBeLessThan(1.25 * 7.2);
  });

  it('takes a mixed chunk for as dear as a run of its own until it knows better', () => {
    const costs = new CostModel();
    for (let step = 0; step < 20; step++) {
      costs.observe({ ...NOTHING, prefill: chunkOf(64), ms: 128 });
    }
    expect(costs.mixedPrefillMs(chunkOf(64))).toBeCloseTo(costs.prefillMs(chunkOf(64)));
    for (let step = 0; step < 20; step++) {
      costs.observe({ ...NOTHING, decode: decodeAt(100, 8), prefill: chunkOf(64), ms: 100 });
    }
    expect(costs.mixedPrefillMs(chunkOf(64))).toBeLessThan(costs.prefillMs(chunkOf(64)));
  });

  it('is not thrown off by an interruption', () => {
    const costs = new CostModel();
    for (let step = 0; step < 100; step++) {
      costs.observe({ ...NOTHING, prefill: chunkOf(100), ms: 60 });
    }
    costs.observe({ ...NOTHING, prefill: chunkOf(100), ms: 60_000 });
    expect(costs.prefillMs(chunkOf(100))).toBeLessThan(70);
  });

  it.each([
    {
      kind: 'decode',
      runOf: (turn: number) => ({ decode: decodeAt(50 + ((turn * 31) % 200), 1 + (turn % 8)) }),
      usualMs: (turn: number) => 5 + 2 * (1 + (turn % 8)),
    },
    {
      kind: 'prefill',
      runOf: (turn: number) => ({ prefill: chunkOf(16 + ((turn * 31) % 400)) }),
      usualMs: (turn: number) => 10 + 0.5 * (16 + ((turn * 31) % 400)),
    },
  ])('follows a machine that others slow down, and as fast when it is free: $kind', (runs) => {
    const costs = new CostModel();
    const probe = { ...NOTHING, ...runs.runOf(7) };
    /** Expected time over the usual one. */
    const share = () => costs.expectedMs(probe) / runs.usualMs(7);
    let turn = 0;
    const run = (slowness: number) => {
      costs.observe({ ...NOTHING, ...runs.runOf(turn), ms: slowness * runs.usualMs(turn) });
      turn++;
    };
    /** How many runs it takes until that is so. */
    const runsUntil = (slowness: number, isSo: () => boolean) => {
      for (let count = 1; count <= 1000; count++) {
        run(slowness);
        if (isSo()) return count;
      }
      return Infinity;
    };
    for (let count = 0; count < 200; count++) run(1);
    const up = runsUntil(4, () => share() > 4 / 1.5);
    for (let count = up; count < 200; count++) run(4);
    expect(share()).toBeGreaterThan(3.5);
    const down = runsUntil(1, () => share() < 1.5);
    expect(up).toBeLessThan(50);
    expect(down).toBeLessThan(50);
  });

  it('keeps what it knows though every twentieth run is interrupted', () => {
    const costs = new CostModel();
    const expected: number[] = [];
    for (let step = 0; step < 1000; step++) {
      costs.observe({ ...NOTHING, prefill: chunkOf(100), ms: step % 20 === 0 ? 1000 : 60 });
      if (step > 200) expected.push(costs.prefillMs(chunkOf(100)));
    }
    expect(Math.min(...expected)).toBeGreaterThan(60);
    // They are part of the mean, each counted at three times the rest: a tenth more.
    expect(Math.max(...expected)).toBeLessThan(1.2 * 60);
  });

  it.each([
    ['a run of one draft', 1],
    ['one run of three drafts', 3],
  ])('judges %s by decode runs that it has timed', (_, numDrafts) => {
    const costs = new CostModel();
    const verify = Array.from({ length: numDrafts }, () => ({ start: 3, length: 4 }));
    const verifies = () => costs.observe({ ...NOTHING, verify, ms: 0.64 * numDrafts });
    for (let step = 0; step < 30; step++) verifies();
    expect(costs.knowsDecode).toBe(false);
    for (let step = 0; step < 60; step++) {
      costs.observe({ ...NOTHING, decode: decodeAt(100), ms: 0.4 });
      verifies();
    }
    expect(costs.knowsDecode).toBe(true);
    // It takes 1.6 times as long as a decode run.
    const ratio = costs.verifyMs(3, 3) / costs.plainMs([{ start: 3 }]);
    expect(ratio).toBeGreaterThan(1.3);
    expect(ratio).toBeLessThan(2);
  });

  it('weighs drafts by what decode runs take, though its own estimate is too high', () => {
    const costs = new CostModel();
    // Runs further on are cheaper: that takes a weight below zero, which there is not.
    for (let step = 0; step < 200; step++) {
      const start = (step % 20) * 20;
      costs.observe({ ...NOTHING, decode: decodeAt(start), ms: 0.8 - 0.001 * start });
    }
    expect(costs.plainMs([{ start: 380 }])).toBeLessThan(0.75);
  });
});
