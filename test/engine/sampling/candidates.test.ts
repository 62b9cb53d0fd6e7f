import { describe, expect, it } from 'vitest';
import { coversDraw } from '../../../src/engine/sampling/candidates.ts';
import { Sampler } from '../../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest, GREEDY } from '../../support/engine-requests.ts';
import { logitsOf } from '../../support/logits-of.ts';

describe('candidates', () => {
  it('share their probability with the tokens that are left out', () => {
    const sampler = new Sampler(100);
    const tokenIds = Int32Array.from({ length: 10 }, (_, index) => 3 * index);
    const drawn = new Set<number>();
    for (let seed = 0n; seed < 300n; seed++) {
      const sampling = { temperature: 1, topP: 0.5, seed };
      const sequence = new Sequence(engineRequest({ sampling }));
      // Ten tokens alike are half of all, so that every one of them is kept.
      const candidates = { tokenIds, restWeight: 10 };
      const { sampled } = sampler.sample(logitsOf(sequence, new Float32Array(10), candidates));
      drawn.add(sampled[0]?.tokens[0]?.tokenId ?? -1);
    }
    expect([...drawn].sort((a, b) => a - b)).toEqual([...tokenIds]);
  });

  it('are enough where no other token can be drawn', () => {
    const weights = Float32Array.of(1, 0.5, 0.25);
    const covers = (params: object, total = 2) =>
      coversDraw(weights, total, { ...GREEDY, temperature: 1, ...params }, 100);
    expect(covers({})).toBe(false);
    expect(covers({ topK: 3 })).toBe(true);
    expect(covers({ topK: 4 })).toBe(false);
    expect(covers({ minP: 0.3 })).toBe(true);
    expect(covers({ minP: 0.2 })).toBe(false);
    expect(covers({ topP: 0.87 })).toBe(true);
    expect(covers({ topP: 0.88 })).toBe(false);
  });
});
