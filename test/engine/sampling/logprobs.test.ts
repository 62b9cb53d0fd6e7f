import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LogprobsTable } from '../../../src/engine/sampling/logprobs.ts';

/** By definition: the logarithm of the softmax, in double precision. */
function logSoftmax(logits: Float32Array): number[] {
  const max = Math.max(...logits);
  const weights = Array.from(logits, (logit) => Math.exp(logit - max));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return Array.from(logits, (logit) => logit - max - Math.log(sum));
}

const logitsOf = fc
  .array(
    fc.oneof(
      fc.float({ min: -40, max: 40, noNaN: true }),
      fc.integer({ min: -3, max: 3 }),
      fc.constant(-Infinity),
    ),
    { minLength: 1, maxLength: 80 },
  )
  .map((values) => Float32Array.from(values))
  .filter((logits) => logits.some((logit) => logit > -Infinity));

describe('LogprobsTable', () => {
  it('gives the log-softmax of the token and of the likeliest, by a full sort', () => {
    fc.assert(
      fc.property(logitsOf, fc.nat(), fc.integer({ min: 0, max: 20 }), (logits, choice, numTop) => {
        const tokenId = choice % logits.length;
        const expected = logSoftmax(logits);
        const order = [...logits.keys()].sort(
          (a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b,
        );
        const table = new LogprobsTable(1, numTop);
        table.set(0, logits, tokenId);
        const numFound = Math.min(numTop, logits.length);
        const rest = Array.from({ length: numTop - numFound }, () => -1);
        expect([...table.tokenIds]).toEqual([tokenId, ...order.slice(0, numFound), ...rest]);
        const wrong = table.logprobs.filter((logprob, column) => {
          const id = table.tokenIds[column] ?? -1;
          const wanted = id === -1 ? -Infinity : (expected[id] ?? NaN);
          const isClose = logprob === wanted || Math.abs(logprob - wanted) < 1e-4;
          return logprob > 0 || !isClose;
        });
        expect([...wrong]).toEqual([]);
        const atLeast = logits.filter((logit) => logit >= (logits[tokenId] ?? 0)).length;
        expect(table.ranks[0]).toBe(atLeast);
      }),
      { numRuns: 1000 },
    );
  });

  it('sums to one over the whole vocabulary', () => {
    const logits = Float32Array.from({ length: 500 }, (_, id) => Math.sin(id) * 12);
    const table = new LogprobsTable(1, 500);
    table.set(0, logits, 7);
    const sum = table.logprobs.subarray(1).reduce((total, logprob) => total + Math.exp(logprob), 0);
    expect(sum).toBeCloseTo(1, 5);
  });

  it('keeps positions apart, and takes a position anew', () => {
    const table = new LogprobsTable(3, 1);
    table.set(2, Float32Array.of(0, 5), 0);
    table.set(0, Float32Array.of(5, 0), 0);
    table.set(2, Float32Array.of(0, Math.log(3)), 1);
    expect([...table.tokenIds]).toEqual([0, 0, 0, 0, 1, 1]);
    expect(table.logprobs[4]).toBeCloseTo(Math.log(0.75), 6);
    expect([...table.ranks]).toEqual([1, 0, 1]);
  });

  it('gives logits that are not numbers no probability', () => {
    const table = new LogprobsTable(1, 2);
    table.set(0, Float32Array.of(NaN, 1, NaN), 1);
    expect([...table.logprobs]).toEqual([0, 0, -Infinity]);
    expect(table.tokenIds[1]).toBe(1);
  });
});
