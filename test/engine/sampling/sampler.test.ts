import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SamplingParams } from '../../../src/engine/request.ts';
import { philox4x32, uniform } from '../../../src/engine/sampling/philox.ts';
import { Sampler } from '../../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { TokenRanking } from '../../../src/engine/sampling/token-ranking.ts';
import { engineRequest, GREEDY } from '../../support/engine-requests.ts';
import { logitsOf } from '../../support/logits-of.ts';

const VOCAB_SIZE = 50;

function sampleOnce(logits: number[], request: Parameters<typeof engineRequest>[0] = {}): number {
  const sequence = new Sequence(engineRequest(request));
  const result = logitsOf(sequence, Float32Array.from(logits));
  const { sampled } = new Sampler(logits.length).sample(result);
  return sampled[0]?.tokens[0]?.tokenId ?? -1;
}

/** How often each token is drawn over many seeds. */
function histogram(logits: number[], sampling: Partial<SamplingParams>, draws = 4000): number[] {
  const counts = logits.map(() => 0);
  for (let seed = 0; seed < draws; seed++) {
    const tokenId = sampleOnce(logits, { sampling: { ...sampling, seed: BigInt(seed) } });
    counts[tokenId] = (counts[tokenId] ?? 0) + 1;
  }
  return counts.map((count) => count / draws);
}

/** The token that a sampler of one line for each definition draws. */
function drawnByDefinition(logits: Float32Array, params: SamplingParams, position: number): number {
  const weights = weightsByDefinition(logits, params.temperature);
  const kept = keptByFullSort(logits, weights, params);
  const total = kept.reduce((sum, id) => sum + (weights[id] ?? 0), 0);
  let rest = uniform(params.seed, position) * total;
  return kept.find((id) => (rest -= weights[id] ?? 0) <= 0) ?? -1;
}

function weightsByDefinition(logits: Float32Array, temperature: number): Float64Array {
  const max = logits.reduce((highest, logit) => Math.max(highest, logit), -Infinity);
  return Float64Array.from(logits, (logit) => Math.exp((logit - max) / temperature));
}

function sortedByDefinition(logits: Float32Array): number[] {
  return [...logits.keys()].sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0) || a - b);
}

/** Tokens kept, by definition: sort everything, cut. */
function keptByFullSort(
  logits: Float32Array,
  weights: Float64Array,
  { minP, topK, topP }: SamplingParams,
): number[] {
  let kept = sortedByDefinition(logits).filter((id) => (weights[id] ?? 0) >= minP);
  if (topK > 0) kept = kept.slice(0, topK);
  if (topP >= 1) return kept;
  const total = kept.reduce((sum, id) => sum + (weights[id] ?? 0), 0);
  let reached = 0;
  const count = kept.findIndex((id) => (reached += weights[id] ?? 0) >= topP * total) + 1;
  return kept.slice(0, count || kept.length);
}

describe('philox4x32-10', () => {
  // Known answers of the authors' library Random123 (kat_vectors).
  it.each([
    { counter: [0, 0, 0, 0], key: [0, 0], words: [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8] },
    {
      counter: [0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff],
      key: [0xffffffff, 0xffffffff],
      words: [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd],
    },
    {
      counter: [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      key: [0xa4093822, 0x299f31d0],
      words: [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
    },
  ] as const)('gives the published words for $counter', ({ counter, key, words }) => {
    expect(philox4x32([...counter], [...key])).toEqual([...words]);
  });

  it('makes uniform numbers that depend on every bit of seed and position', () => {
    const numbers = Array.from({ length: 2000 }, (_, position) => uniform(42n, position));
    expect(numbers.every((u) => u >= 0 && u < 1)).toBe(true);
    const mean = numbers.reduce((sum, u) => sum + u, 0) / numbers.length;
    // Seven standard errors of the mean of 2,000 uniform numbers.
    expect(Math.abs(mean - 0.5)).toBeLessThan((7 * Math.sqrt(1 / 12)) / Math.sqrt(2000));
    expect(
      new Set([uniform(1n, 0), uniform(1n << 63n, 0), uniform(0n, 1), uniform(0n, 0)]).size,
    ).toBe(4);
    expect(uniform(-1n, 5)).toBe(uniform(0xffffffffffffffffn, 5));
  });
});

describe('the sampler', () => {
  it('takes the highest logit when greedy, the lowest id among equals', () => {
    expect(sampleOnce([1, 3, 2, 3])).toBe(1);
    expect(sampleOnce([-5, -Infinity, -4])).toBe(2);
  });

  it('trusts the best token that a decoder found, unless the request changes logits', () => {
    const sample = (best: number, request: Parameters<typeof engineRequest>[0]) => {
      const result = logitsOf(new Sequence(engineRequest(request)), Float32Array.of(1, 3, 2, 0));
      const logits = result.logits.map((each) => ({ ...each, best: [best] }));
      const { sampled, failures } = new Sampler(4).sample({ ...result, logits });
      return failures.length > 0 ? 'failed' : sampled[0]?.tokens[0]?.tokenId;
    };
    // Not the highest: so it is seen whether the logits were looked at.
    expect(sample(2, { sampling: GREEDY })).toBe(2);
    expect(sample(-1, { sampling: GREEDY })).toBe('failed');
    expect(sample(-1, { sampling: { temperature: 1 } })).toBe('failed');
    const logitBias = { tokenIds: Int32Array.of(3), biases: Float32Array.of(9) };
    expect(sample(2, { sampling: { ...GREEDY, logitBias } })).toBe(3);
    expect(sample(2, { sampling: { ...GREEDY, allowedTokenIds: Int32Array.of(0) } })).toBe(0);
    expect(sample(2, { sampling: GREEDY, logprobs: 1 })).toBe(1);
  });

  it('reports rows without a finite logit', () => {
    for (const logits of [
      [NaN, NaN],
      [-Infinity, -Infinity],
      [Infinity, 0],
    ]) {
      expect(sampleOnce(logits)).toBe(-1);
      expect(sampleOnce(logits, { sampling: { temperature: 1 } })).toBe(-1);
    }
    expect(sampleOnce([NaN, 2, NaN, 1], { sampling: { temperature: 0.01 } })).toBe(1);
  });

  it('draws by the softmax at its temperature', () => {
    const probabilities = [0.5, 0.3, 0.15, 0.05];
    const drawn = histogram(probabilities.map(Math.log), { temperature: 1 });
    for (const [id, p] of probabilities.entries()) {
      // Five standard errors of a share over 4,000 draws.
      expect(Math.abs((drawn[id] ?? 0) - p)).toBeLessThan(5 * Math.sqrt((p * (1 - p)) / 4000));
    }
    const sharpened = histogram(probabilities.map(Math.log), { temperature: 0.5 });
    const p0 = 0.25 / (0.25 + 0.09 + 0.0225 + 0.0025);
    expect(Math.abs((sharpened[0] ?? 0) - p0)).toBeLessThan(5 * Math.sqrt((p0 * (1 - p0)) / 4000));
  });

  it('draws the same token for the same seed and position, another for others', () => {
    const flat = Array.from({ length: VOCAB_SIZE }, () => 0);
    const at = (seed: bigint, promptLength: number) =>
      sampleOnce(flat, {
        promptTokenIds: new Int32Array(promptLength),
        sampling: { temperature: 1, seed },
      });
    expect(at(7n, 5)).toBe(at(7n, 5));
    const tokens = Array.from({ length: 20 }, (_, index) => at(7n, index + 1));
    expect(new Set(tokens).size).toBeGreaterThan(8);
  });

  it('draws on after a restart as it would have', () => {
    const flat = Array.from({ length: VOCAB_SIZE }, () => 0);
    const sampling = { temperature: 1, seed: 3n };
    const whole = { promptTokenIds: Int32Array.of(1, 2, 3, 4), sampling };
    const resumed = {
      promptTokenIds: Int32Array.of(1, 2),
      outputTokenIds: Int32Array.of(3, 4),
      sampling,
    };
    expect(sampleOnce(flat, resumed)).toBe(sampleOnce(flat, whole));
  });

  it('bans stop tokens before min_tokens', () => {
    expect(sampleOnce([5, 1, 2], { stopTokenIds: [0], minTokens: 1 })).toBe(2);
    expect(sampleOnce([5, 1, 2], { stopTokenIds: [0], minTokens: 0 })).toBe(0);
    const one = { outputTokenIds: Int32Array.of(1), stopTokenIds: [0], minTokens: 1 };
    expect(sampleOnce([5, 1, 2], one)).toBe(0);
  });

  it('applies repetition penalty to prompt and output, the others to the output', () => {
    const seen = { promptTokenIds: Int32Array.of(0), outputTokenIds: Int32Array.of(1, 1) };
    const penalised = (sampling: Partial<SamplingParams>, logits: number[]) =>
      sampleOnce(logits, { ...seen, sampling });
    // Token 0 is only in the prompt: 4 / 2 = 2 < 3.
    expect(penalised({ repetitionPenalty: 2 }, [4, 0, 3])).toBe(2);
    // Negative logits are multiplied: -1 * 2 < -1.5.
    expect(penalised({ repetitionPenalty: 2 }, [-1, -1, -1.5])).toBe(2);
    expect(penalised({ presencePenalty: 1.5 }, [4, 5, 3])).toBe(0);
    expect(penalised({ presencePenalty: 1.5 }, [3, 5, 3.4])).toBe(1);
    // Twice in the output: 5 - 2 * 1.
    expect(penalised({ frequencyPenalty: 1 }, [3.5, 5, 0])).toBe(0);
    expect(penalised({ frequencyPenalty: 1 }, [2.5, 5, 0])).toBe(1);
  });
});

describe('the sampler over a whole vocabulary', () => {
  const SIZE = 8192;
  /** Flat as of random weights, peaked as of trained ones, and one of few values. */
  const SHAPES = {
    flat: (u: number) => u * 3,
    peaked: (u: number) => 12 * u ** 24 - 20 * (1 - u),
    tied: (u: number) => Math.floor(u * 6),
  };

  it.each(Object.entries(SHAPES))(
    'draws from %s logits what it should by definition',
    (_, shape) => {
      const limits = fc.record({
        temperature: fc.double({ min: 0.05, max: 2, noNaN: true }),
        minP: fc.constantFrom(0, 0, 0.01, 0.3),
        topK: fc.constantFrom(0, 0, 1, 50, SIZE),
        topP: fc.constantFrom(1, 0.95, 0.5, 0.01),
      });
      fc.assert(
        fc.property(fc.integer({ min: 0, max: 2 ** 30 }), limits, (seed, chosen) => {
          const sampling = { ...GREEDY, ...chosen, seed: BigInt(seed) };
          const logits = Float32Array.from({ length: SIZE }, (_value, id) =>
            shape(uniform(sampling.seed, id + 10)),
          );
          const promptTokenIds = Int32Array.of(1, 2);
          const expected = drawnByDefinition(logits, sampling, promptTokenIds.length);
          expect(sampleOnce([...logits], { promptTokenIds, sampling })).toBe(expected);
        }),
        { numRuns: 60 },
      );
    },
  );
});

describe('log-probabilities', () => {
  const sample = (logits: number[], request: Parameters<typeof engineRequest>[0]) => {
    const sequence = new Sequence(engineRequest(request));
    const result = logitsOf(sequence, Float32Array.from(logits));
    const [sampled] = new Sampler(logits.length).sample(result).sampled;
    return { token: sampled?.tokens[0], sequence };
  };

  it('come from the logits as they were before bans, penalties and temperature', () => {
    const probabilities = [0.5, 0.25, 0.15, 0.1];
    const { token } = sample(probabilities.map(Math.log), {
      logprobs: 2,
      stopTokenIds: [0],
      minTokens: 1,
      sampling: { temperature: 0.01, frequencyPenalty: 2, topK: 1 },
    });
    expect(token?.tokenId).toBe(1);
    expect([...(token?.logprobs?.tokenIds ?? [])]).toEqual([1, 0, 1]);
    const expected = [0.25, 0.5, 0.25].map(Math.log);
    for (const [column, logprob] of (token?.logprobs?.logprobs ?? []).entries()) {
      expect(logprob).toBeCloseTo(expected[column] ?? NaN, 5);
    }
    expect([...(token?.logprobs?.ranks ?? [])]).toEqual([2]);
  });

  it('are not there unless asked for', () => {
    const { token } = sample([1, 2], {});
    expect(token && 'logprobs' in token).toBe(false);
    expect(token && 'promptLogprobs' in token).toBe(false);
  });

  it('of a prompt come token by token, and with the first token drawn', () => {
    const prompt = [2, 0, 1];
    const sequence = new Sequence(
      engineRequest({ promptTokenIds: Int32Array.from(prompt), promptLogprobs: 1 }),
    );
    const sampler = new Sampler(3);
    const steps = [
      [0.7, 0.2, 0.1],
      [0.1, 0.6, 0.3],
      [0.3, 0.1, 0.6],
    ];
    const results = steps.map((probabilities) => {
      const logits = Float32Array.from(probabilities, Math.log);
      const { sampled } = sampler.sample(logitsOf(sequence, logits));
      sequence.numComputedTokens++;
      return sampled;
    });
    expect(results.map((sampled) => sampled.length)).toEqual([0, 0, 1]);
    const { tokenId, promptLogprobs } = results[2]?.[0]?.tokens[0] ?? {};
    expect(tokenId).toBe(2);
    expect([...(promptLogprobs?.tokenIds ?? [])]).toEqual([0, 0, 1, 1]);
    expect(promptLogprobs?.logprobs[0]).toBeCloseTo(Math.log(0.7), 5);
    expect(promptLogprobs?.logprobs[2]).toBeCloseTo(Math.log(0.6), 5);
    sequence.append(2);
    const [next] = sampler.sample(logitsOf(sequence, Float32Array.of(1, 2, 3))).sampled;
    expect(next?.tokens.map((token) => 'promptLogprobs' in token)).toEqual([false]);
  });
});

describe('the token ranking', () => {
  const row = fc
    .array(
      fc.oneof(fc.integer({ min: -40, max: 30 }), fc.float({ min: -50, max: 30, noNaN: true })),
      { minLength: 1, maxLength: 300 },
    )
    .map((values) => Float32Array.from(values));
  const temperatures = fc.double({ min: 0.1, max: 3, noNaN: true });
  /** Weights that are left out, and rounding. */
  const TOLERANCE = 1e-8;

  const ranked = (logits: Float32Array, temperature: number) => {
    const ranking = new TokenRanking(logits.length);
    const max = logits.reduce((highest, logit) => (logit > highest ? logit : highest), -Infinity);
    const total = ranking.rank(logits, max, temperature);
    return { ranking, total };
  };

  it('weighs what a full sort would', () => {
    fc.assert(
      fc.property(
        row,
        temperatures,
        fc.integer({ min: 1, max: 300 }),
        fc.double({ min: 1e-20, max: 1, noNaN: true }),
        (logits, temperature, count, minWeight) => {
          const { ranking, total } = ranked(logits, temperature);
          const weights = weightsByDefinition(logits, temperature);
          const order = sortedByDefinition(logits).map((id) => weights[id] ?? 0);
          const sum = (kept: readonly number[]) => kept.reduce((partial, w) => partial + w, 0);
          expect(Math.abs(total / sum(order) - 1)).toBeLessThan(TOLERANCE);
          const first = sum(order.slice(0, count));
          expect(Math.abs(ranking.weightOfFirst(count) / first - 1)).toBeLessThan(TOLERANCE);
          // Nobody can say on which side of a limit a weight lies that is all but the same.
          const likely = ranking.weightOfLikely(minWeight);
          const atLeast = (least: number) => sum(order.filter((weight) => weight >= least));
          expect(likely).toBeGreaterThan(atLeast(minWeight * (1 + TOLERANCE)) * (1 - TOLERANCE));
          expect(likely).toBeLessThan(atLeast(minWeight * (1 - TOLERANCE)) * (1 + TOLERANCE));
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('finds the token that a full sort would', () => {
    fc.assert(
      fc.property(
        row,
        temperatures,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (logits, temperature, share) => {
          const { ranking, total } = ranked(logits, temperature);
          const weights = weightsByDefinition(logits, temperature);
          const order = sortedByDefinition(logits);
          const found = order.indexOf(ranking.tokenAt(share * total));
          const before = order.slice(0, found).reduce((sum, id) => sum + (weights[id] ?? 0), 0);
          const after = before + (weights[order[found] ?? 0] ?? 0);
          expect(before).toBeLessThanOrEqual(share * total + TOLERANCE * total);
          expect(after).toBeGreaterThanOrEqual(share * total - TOLERANCE * total);
          const reached = ranking.weightReaching(share * total);
          expect(Math.abs(reached / after - 1)).toBeLessThan(TOLERANCE);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('counts tokens whose logits are all but the same', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1100 }),
        fc.integer({ min: 1, max: 64 }),
        (count, width) => {
          // A bucket is 0.0054 wide: from fifteen tokens in each to all in one.
          const range = 0.005 * width;
          const logits = Float32Array.from({ length: 1000 }, (_, id) => (range * id) / 1000);
          const weights = weightsByDefinition(logits, 1).toSorted().toReversed();
          const first = weights.slice(0, count).reduce((sum, weight) => sum + weight, 0);
          const { ranking } = ranked(logits, 1);
          expect(Math.abs(ranking.weightOfFirst(count) / first - 1)).toBeLessThan(TOLERANCE);
        },
      ),
    );
  });

  it('goes by the order of ids among equals', () => {
    const logits = Float32Array.of(1, 2, 0, 2, -0, 2);
    const { ranking } = ranked(logits, 1);
    const tokens = [0.5, 1.5, 2.5, 3.1, 3.4, 3.6].map((limit) => ranking.tokenAt(limit));
    expect(tokens).toEqual([1, 3, 5, 0, 2, 4]);
  });

  it('always keeps the likeliest token', () => {
    const { ranking } = ranked(Float32Array.of(-1, 0.5, 0.4), 1);
    expect(ranking.weightOfLikely(1)).toBe(1);
    expect(ranking.weightOfFirst(1)).toBe(1);
    expect(ranking.weightReaching(1e-9)).toBe(1);
    expect(ranking.tokenAt(0)).toBe(1);
  });

  it('leaves out what is not a number or as good as impossible', () => {
    const { ranking, total } = ranked(Float32Array.of(-Infinity, 0, NaN, -40, 0), 1);
    expect(total).toBe(2);
    expect(ranking.weightOfFirst(5)).toBe(2);
    expect(ranking.tokenAt(3)).toBe(4);
  });
});
