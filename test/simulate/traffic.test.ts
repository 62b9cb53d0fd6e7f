import { describe, expect, it } from 'vitest';
import { SHAREGPT_MEANS } from '../../src/bench/lengths.ts';
import { Random } from '../../src/bench/random.ts';
import { madeUpOutput } from '../../scripts/simulate/made-up-tokens.ts';
import {
  type Arrival,
  arrivals,
  chatRequest,
  shareGptRequest,
} from '../../scripts/simulate/traffic.ts';

const MODEL_LEN = 8192;

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Squared coefficient of variation of the intervals: 1 for a Poisson process. */
function burstinessOf(traffic: readonly Arrival[]): number {
  const gaps = traffic.slice(1).map(({ atMs }, index) => atMs - (traffic[index]?.atMs ?? 0));
  const average = mean(gaps);
  return mean(gaps.map((gap) => (gap / average - 1) ** 2));
}

function trafficOf(burstiness: number): Arrival[] {
  const random = new Random(1);
  const shape = { count: 10_000, perSecond: 20, burstiness };
  return [...arrivals(shape, random, () => shareGptRequest(MODEL_LEN, random))];
}

describe('simulated traffic', () => {
  it('comes at the rate asked for, evenly or in bursts', () => {
    const [poisson, bursty] = [trafficOf(1), trafficOf(0.25)];
    for (const traffic of [poisson, bursty]) {
      expect((traffic.at(-1)?.atMs ?? 0) / 1000).toBeCloseTo(10_000 / 20, -1.5);
    }
    expect(burstinessOf(poisson)).toBeCloseTo(1, 0.9);
    expect(burstinessOf(bursty)).toBeGreaterThan(3);
  });

  it("has ShareGPT's mean lengths", () => {
    const traffic = trafficOf(1);
    const prompts = mean(traffic.map(({ request }) => request.promptTokenIds.length));
    const outputs = mean(traffic.map(({ request }) => request.outputTokens));
    expect(Math.abs(prompts / SHAREGPT_MEANS.input - 1)).toBeLessThan(0.05);
    expect(Math.abs(outputs / SHAREGPT_MEANS.output - 1)).toBeLessThan(0.05);
  });

  it('goes on with the whole conversation so far', () => {
    const systemPrompts = [Int32Array.of(7, 8, 9)];
    const shape = { maxModelLen: MODEL_LEN, systemPrompts, meanTurns: 1000, meanPauseMs: 1 };
    const first = chatRequest(shape, new Random(1));
    const second = first.followUp?.(42).request;
    const history = [...first.promptTokenIds, ...madeUpOutput(42, first.outputTokens)];
    expect([...first.promptTokenIds.slice(0, 3)]).toEqual([7, 8, 9]);
    expect([...(second?.promptTokenIds ?? [])].slice(0, history.length)).toEqual(history);
    expect(second?.promptTokenIds.length).toBeGreaterThan(history.length);
  });
});
