/** llama.cpp's samplers, against the figures of its own tests and against their definitions. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DryPenalty, SamplingParams } from '../../../src/engine/request.ts';
import { applyDry } from '../../../src/engine/sampling/dry.ts';
import { dynamicTemperature } from '../../../src/engine/sampling/dynamic-temperature.ts';
import { Sampler } from '../../../src/engine/sampling/sampler.ts';
import { keepTypical } from '../../../src/engine/sampling/typical.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { logitsOf } from '../../support/logits-of.ts';

const NUM_DRAWS = 3000;
/** Five standard errors of a share of one half. */
const TOLERANCE = 5 * Math.sqrt(0.25 / NUM_DRAWS);

/** How often each token is drawn, by seeds from 0 on. */
function shares(probabilities: readonly number[], sampling: Partial<SamplingParams>): number[] {
  const sampler = new Sampler(probabilities.length);
  const counts = probabilities.map(() => 0);
  for (let seed = 0n; seed < NUM_DRAWS; seed++) {
    const sequence = new Sequence(
      engineRequest({ sampling: { temperature: 1, ...sampling, seed } }),
    );
    const logits = Float32Array.from(probabilities, Math.log);
    const { sampled } = sampler.sample(logitsOf(sequence, logits));
    const tokenId = sampled[0]?.tokens[0]?.tokenId ?? -1;
    counts[tokenId] = (counts[tokenId] ?? 0) + 1;
  }
  return counts.map((count) => count / NUM_DRAWS);
}

function expectShares(actual: readonly number[], expected: readonly number[]): void {
  for (const [tokenId, share] of expected.entries()) {
    const tolerance = share === 0 || share === 1 ? 0 : TOLERANCE;
    expect(Math.abs((actual[tokenId] ?? 0) - share)).toBeLessThanOrEqual(tolerance);
  }
}

function softmax(logits: Float32Array): number[] {
  const weights = Array.from(logits, Math.exp);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

function dry(overrides: Partial<DryPenalty> = {}): DryPenalty {
  const breakers = new Int32Array();
  return { multiplier: 1, base: 1.1, allowedLength: 2, lastTokens: -1, breakers, ...overrides };
}

const finiteLogits = fc.array(fc.double({ min: -20, max: 20, noNaN: true }), {
  minLength: 2,
  maxLength: 40,
});

// The cases of llama.cpp's tests/test-sampling.cpp.
describe('figures of llama.cpp', () => {
  const FOUR = [0.4, 0.3, 0.2, 0.1];

  it.each([
    { threshold: 0.09, expected: [0, 0, 0, 1] },
    { threshold: 0.19, expected: [0, 0, 2 / 3, 1 / 3] },
    { threshold: 0.29, expected: [0, 0.5, 1 / 3, 1 / 6] },
    { threshold: 0.39, expected: FOUR },
  ])('XTC of $threshold', ({ threshold, expected }) => {
    expectShares(shares(FOUR, { extra: { xtc: { probability: 1, threshold } } }), expected);
  });

  it('XTC with its probability', () => {
    const half = shares(FOUR, { extra: { xtc: { probability: 0.5, threshold: 0.09 } } });
    expectShares(half, [0.2, 0.15, 0.1, 0.55]);
  });

  it.each([
    { probabilities: [0.97, 0.01, 0.01, 0.01], expected: [1, 0, 0, 0] },
    { probabilities: [0.4, 0.2, 0.2, 0.2], expected: [0, 1 / 3, 1 / 3, 1 / 3] },
  ])('typical_p 0.5 of $probabilities', ({ probabilities, expected }) => {
    expectShares(shares(probabilities, { extra: { typicalP: 0.5 } }), expected);
  });

  it.each([
    { topNSigma: 1, expected: [4 / 7, 3 / 7, 0, 0] },
    { topNSigma: 3, expected: FOUR },
  ])('top_n_sigma $topNSigma', ({ topNSigma, expected }) => {
    expectShares(shares(FOUR, { extra: { topNSigma } }), expected);
  });

  it.each([
    { text: [0, 1], expected: [0.25, 0.25, 0.25, 0.25], penalty: {} },
    { text: [0, 1, 2, 0, 1], expected: [0.296923, 0.296923, 0.109232, 0.296923], penalty: {} },
    {
      text: [0, 1, 3, 4, 0, 1],
      expected: [0.2, 0.2, 0.2, 0.2, 0.2],
      penalty: { breakers: Int32Array.of(3) },
    },
    {
      text: [0, 1, 2, 0, 1],
      expected: [0.241818, 0.241818, 0.032727, 0.241818, 0.241818],
      penalty: { multiplier: 2 },
    },
    {
      text: [0, 1, 2, 3, 4, 0, 1],
      expected: [0.2, 0.2, 0.2, 0.2, 0.2],
      penalty: { allowedLength: 4 },
    },
  ])('DRY after $text', ({ text, expected, penalty }) => {
    const sequence = new Sequence(engineRequest({ promptTokenIds: Int32Array.from(text) }));
    const logits = Float32Array.from(expected, () => 0);
    applyDry(logits, sequence, dry(penalty));
    for (const [id, share] of softmax(logits).entries())
      expect(share).toBeCloseTo(expected[id] ?? 0, 5);
  });
});

describe('definitions', () => {
  it('DRY penalizes by the longest repetition that each token would go on with', () => {
    const tokens = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 40 });
    const cases = fc.record({
      tokens,
      allowedLength: fc.integer({ min: 1, max: 4 }),
      lastTokens: fc.integer({ min: -1, max: 40 }),
      breakers: fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { maxLength: 1 }),
    });
    fc.assert(
      fc.property(cases, ({ tokens: all, allowedLength, lastTokens, breakers }) => {
        const logits = new Float32Array(4);
        const sequence = new Sequence(engineRequest({ promptTokenIds: Int32Array.from(all) }));
        const penalty = dry({ allowedLength, lastTokens, breakers: Int32Array.from(breakers) });
        applyDry(logits, sequence, penalty);
        const text =
          lastTokens === -1 ? all : all.slice(all.length - Math.min(lastTokens, all.length));
        const expected = [0, 1, 2, 3].map((id) => {
          const longest = longestRepeat(text, id, breakers);
          const isFree = longest < allowedLength || breakers.includes(id);
          return isFree ? 0 : -(1.1 ** (longest - allowedLength));
        });
        expect([...logits]).toEqual([...Float32Array.from(expected)]);
      }),
      { numRuns: 2000 },
    );
  });

  it('DRY stays a finite number after any repetition', () => {
    const text = new Int32Array(3000).fill(1);
    const logits = new Float32Array(2);
    applyDry(logits, new Sequence(engineRequest({ promptTokenIds: text })), dry({ base: 4 }));
    expect(logits[0]).toBe(0);
    expect(logits[1]).toBeLessThan(-1e30);
    expect(logits[1]).toBeGreaterThan(-Infinity);
  });

  it('typical_p keeps the tokens nearest to the entropy', () => {
    const cases = [finiteLogits, fc.double({ min: 0.05, max: 0.95, noNaN: true })] as const;
    fc.assert(
      fc.property(...cases, (values, share) => {
        const logits = Float32Array.from(values);
        const before = [...logits];
        keepTypical(logits, Math.max(...before), 1, share);
        const kept = [...logits.keys()].filter((id) => (logits[id] ?? 0) > -Infinity);
        expect(kept.map((id) => logits[id])).toEqual(kept.map((id) => before[id]));
        const { probabilities, distances } = typicalByDefinition(before);
        const farthest = Math.max(...kept.map((id) => distances[id] ?? 0));
        const nearer = distances.filter((distance) => distance < farthest - 1e-9).length;
        expect(nearer).toBeLessThanOrEqual(kept.length);
        const reached = kept.reduce((sum, id) => sum + (probabilities[id] ?? 0), 0);
        expect(reached).toBeGreaterThan(share - 1e-9);
        // One token less would not be enough.
        const last = kept.reduce((a, b) => ((distances[a] ?? 0) >= (distances[b] ?? 0) ? a : b));
        expect(reached - (probabilities[last] ?? 0)).toBeLessThan(share + 1e-9);
      }),
      { numRuns: 2000 },
    );
  });

  it('the dynamic temperature lies between its ends, at them for certain and uniform tokens', () => {
    const range = { range: 0.5, exponent: 1 };
    const uniform = new Float32Array(64);
    expect(dynamicTemperature(uniform, 0, -Infinity, 0.8, range)).toBeCloseTo(1.3, 6);
    const certain = new Float32Array(64).fill(-60);
    certain[3] = 0;
    expect(dynamicTemperature(certain, 0, -Infinity, 0.8, range)).toBeCloseTo(0.3, 6);
    // Two of three tokens: entropy ln 2 of those that are kept, 1 of 1.
    expect(dynamicTemperature(Float32Array.of(0, 0, -1), 0, 0, 0.8, range)).toBeCloseTo(1.3, 6);
    // p = 0.8 and 0.2: 0.7219 bits; squared 0.5212.
    const two = Float32Array.of(Math.log(0.8), Math.log(0.2));
    const squared = { range: 0.5, exponent: 2 };
    expect(dynamicTemperature(two, two[0] ?? 0, -Infinity, 1, squared)).toBeCloseTo(1.0212, 3);
  });

  it('a dynamic temperature draws from what top_k keeps', () => {
    const extra = { dynamic: { range: 0.5, exponent: 1 } };
    // Two equal tokens: the highest temperature, 1.5, which changes nothing between them.
    expectShares(shares([0.4, 0.4, 0.2], { topK: 2, extra }), [0.5, 0.5, 0]);
    // Weights to the power of 1 / 1.5.
    const hot = [0.5, 0.25, 0.25].map((share) => share ** (1 / 1.4591));
    const total = hot.reduce((sum, weight) => sum + weight, 0);
    expectShares(
      shares([0.5, 0.25, 0.25], { extra }),
      hot.map((weight) => weight / total),
    );
  });

  it('are off for a greedy request', () => {
    const xtc = { probability: 1, threshold: 0.05 };
    expectShares(shares([0.4, 0.3, 0.2, 0.1], { temperature: 0, extra: { xtc } }), [1, 0, 0, 0]);
  });
});

function longestRepeat(text: readonly number[], next: number, breakers: readonly number[]): number {
  let longest = -1;
  for (let end = 1; end < text.length; end++) {
    if (text[end] !== next) continue;
    let length = 0;
    while (length < end && !breakers.includes(text[text.length - 1 - length] ?? -1)) {
      if (text[end - 1 - length] !== text[text.length - 1 - length]) break;
      length++;
    }
    longest = Math.max(longest, length);
  }
  return longest;
}

function typicalByDefinition(logits: readonly number[]) {
  const max = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - max));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const probabilities = weights.map((weight) => weight / total);
  const surprises = logits.map((logit) => Math.log(total) - (logit - max));
  const entropy = probabilities.reduce((sum, p, id) => sum + p * (surprises[id] ?? 0), 0);
  return { probabilities, distances: surprises.map((each) => Math.abs(each - entropy)) };
}
