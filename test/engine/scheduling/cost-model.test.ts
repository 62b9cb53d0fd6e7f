import { expect, it } from 'vitest';
import { CostModel } from '../../../src/engine/scheduling/cost-model.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import type { StepPlan } from '../../../src/engine/step.ts';
import { engineRequest } from '../../support/engine-requests.ts';

const sequence = new Sequence(engineRequest());

function planOf(numRows: number, numPrefillTokens: number): StepPlan {
  const decode = Array.from({ length: numRows }, () => ({ sequence, position: 100 }));
  const chunk = { sequence, start: 0, length: numPrefillTokens };
  const prefill = numPrefillTokens > 0 ? [[chunk]] : [];
  return { cacheOperations: [], decode, prefill, numBatchedTokens: numRows + numPrefillTokens };
}

it('learns what decode and prefill cost from steps that are one run', () => {
  const costs = new CostModel();
  for (let step = 0; step < 400; step++) {
    const [numRows, numTokens] = [1 + (step % 8), step % 3 === 0 ? 16 * (1 + (step % 5)) : 0];
    const stepMs = 2 + 0.5 * numRows + 0.05 * numTokens;
    const timings = { decodeMs: 0, prefillMs: [], stepMs };
    costs.observe(planOf(numRows, numTokens), timings);
  }
  expect(costs.decodeMs(planOf(4, 0).decode)).toBeCloseTo(4, 0);
  const whole =
    costs.decodeMs(planOf(4, 0).decode) + costs.besideDecodeMs([{ start: 0, length: 64 }]);
  expect(whole).toBeGreaterThan(0.8 * 7.2);
  expect(whole).toBeLessThan(1.25 * 7.2);
});

it('takes a chunk beside a decode run for as dear as a run of its own until it knows better', () => {
  const costs = new CostModel();
  for (let step = 0; step < 20; step++) {
    costs.observe(planOf(0, 64), { decodeMs: 0, prefillMs: [128] });
  }
  const chunk = [{ start: 0, length: 64 }];
  expect(costs.besideDecodeMs(chunk)).toBeCloseTo(costs.prefillMs(chunk));
  for (let step = 0; step < 20; step++) {
    costs.observe(planOf(8, 64), { decodeMs: 0, prefillMs: [0], mixedMs: 100 });
  }
  expect(costs.besideDecodeMs(chunk)).toBeLessThan(costs.prefillMs(chunk));
});

it('judges verify runs by decode runs that it has timed', () => {
  const costs = new CostModel();
  const verify = { ...planOf(0, 0), verify: [{ sequence, draftTokenIds: new Int32Array(3) }] };
  const verifies = () => costs.observe(verify, { decodeMs: 0, prefillMs: [], verifyMs: [0.64] });
  for (let step = 0; step < 30; step++) verifies();
  expect(costs.knowsDecode).toBe(false);
  for (let step = 0; step < 60; step++) {
    costs.observe(planOf(1, 0), { decodeMs: 0.4, prefillMs: [] });
    verifies();
  }
  expect(costs.knowsDecode).toBe(true);
  // It takes 1.6 times as long as a decode run.
  const ratio = costs.verifyMs(0, 3) / costs.plainMs([{ position: 0 }]);
  expect(ratio).toBeGreaterThan(1.3);
  expect(ratio).toBeLessThan(2);
});

it('weighs drafts by what decode runs take, though its fit is to the dear side', () => {
  const costs = new CostModel();
  // Runs further on are cheaper: the fit can't say so without a weight below zero.
  for (let step = 0; step < 200; step++) {
    const position = (step % 20) * 20;
    const plan = { ...planOf(1, 0), decode: [{ sequence, position }] };
    costs.observe(plan, { decodeMs: 0.8 - 0.001 * position, prefillMs: [] });
  }
  const rows = [{ position: 380 }];
  expect(costs.plainMs(rows)).toBeLessThan(0.75);
});
