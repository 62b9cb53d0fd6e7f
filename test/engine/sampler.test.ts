import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SamplingParams } from '../../src/engine/messages.ts';
import { philox4x32, uniform } from '../../src/engine/random.ts';
import { Sampler } from '../../src/engine/sampler.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { TokenFilter } from '../../src/engine/token-filter.ts';
import { engineRequest, GREEDY } from '../support/engine-requests.ts';

const VOCAB_SIZE = 50;

function sampleOnce(logits: number[], request: Parameters<typeof engineRequest>[0] = {}): number {
  const sequence = new Sequence(engineRequest(request));
  const row = { sequence, logits: Float32Array.from(logits) };
  const { sampled } = new Sampler(logits.length).sample([row]);
  return sampled[0]?.tokenId ?? -1;
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

/** Zeroes what the filter does not keep. @returns what it says is left */
function filter(weights: Float32Array<ArrayBuffer>, params: SamplingParams): number {
  const tokenFilter = new TokenFilter(weights);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const left = tokenFilter.apply(total, params);
  const { leastWeight, lastId } = tokenFilter;
  for (const [id, weight] of weights.entries()) {
    const isKept = weight > leastWeight || (weight === leastWeight && id <= lastId);
    if (!isKept) weights[id] = 0;
  }
  return left;
}

/** The token that a sampler of one line for each definition draws. */
function drawnByDefinition(logits: Float32Array, params: SamplingParams, position: number): number {
  const max = logits.reduce((highest, logit) => Math.max(highest, logit), -Infinity);
  const weights = logits.map((logit) => Math.exp((logit - max) / params.temperature));
  const kept = keptByFullSort(weights, params);
  const ids = [...weights.keys()].filter((id) => kept.has(id));
  const total = ids.reduce((sum, id) => sum + (weights[id] ?? 0), 0);
  let rest = uniform(params.seed, position) * total;
  return ids.find((id) => (rest -= weights[id] ?? 0) < 0) ?? -1;
}

/** What a filter keeps, by definition: sort everything, cut. */
function keptByFullSort(weights: Float32Array, params: SamplingParams): Set<number> {
  let kept = [...weights.keys()].filter((id) => (weights[id] ?? 0) > 0);
  kept = kept.filter((id) => (weights[id] ?? 0) >= Math.fround(params.minP));
  kept.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
  if (params.topK > 0) kept = kept.slice(0, params.topK);
  if (params.topP >= 1) return new Set(kept);
  const total = kept.reduce((sum, id) => sum + (weights[id] ?? 0), 0);
  let reached = 0;
  const count = kept.findIndex((id) => (reached += weights[id] ?? 0) >= params.topP * total) + 1;
  return new Set(kept.slice(0, count || kept.length));
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
    const rows = [{ sequence, logits: Float32Array.from(logits) }];
    const [token] = new Sampler(logits.length).sample(rows).sampled;
    return { token, sequence };
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
      const { sampled } = sampler.sample([{ sequence, logits }]);
      sequence.numComputedTokens++;
      return sampled;
    });
    expect(results.map((sampled) => sampled.length)).toEqual([0, 0, 1]);
    const { tokenId, promptLogprobs } = results[2]?.[0] ?? {};
    expect(tokenId).toBe(2);
    expect([...(promptLogprobs?.tokenIds ?? [])]).toEqual([0, 0, 1, 1]);
    expect(promptLogprobs?.logprobs[0]).toBeCloseTo(Math.log(0.7), 5);
    expect(promptLogprobs?.logprobs[2]).toBeCloseTo(Math.log(0.6), 5);
    sequence.append(2);
    const [next] = sampler.sample([{ sequence, logits: Float32Array.of(1, 2, 3) }]).sampled;
    expect(next && 'promptLogprobs' in next).toBe(false);
  });
});

describe('the token filter', () => {
  const logits = fc.array(
    fc.oneof(fc.integer({ min: -40, max: 0 }), fc.float({ min: -50, max: 0, noNaN: true })),
    {
      minLength: 1,
      maxLength: 300,
    },
  );

  it('keeps what a full sort would keep', () => {
    fc.assert(
      fc.property(
        logits,
        fc.record({
          topK: fc.integer({ min: 0, max: 60 }),
          topP: fc.oneof(fc.constant(1), fc.double({ min: 0.001, max: 1, noNaN: true })),
          minP: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
        }),
        (values, limits) => {
          const params = { ...GREEDY, ...limits, minP: Math.fround(limits.minP) };
          const weights = Float32Array.from([0, ...values], (logit) => Math.exp(logit));
          const kept = keptByFullSort(weights, params);
          const expected = weights.map((weight, id) => (kept.has(id) ? weight : 0));
          const total = filter(weights, params);
          // Sums in another order may differ in the last bits, where a limit falls on a tie.
          const borderline = weights.reduce((n, w, id) => n + Number(w !== expected[id]), 0);
          expect(borderline).toBeLessThanOrEqual(limits.topP < 1 ? 1 : 0);
          const sum = weights.reduce((partial, weight) => partial + weight, 0);
          expect(total).toBeCloseTo(sum, 4);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('always keeps the likeliest token', () => {
    const weights = Float32Array.of(0.2, 1, 0.5);
    const params = { ...GREEDY, topK: 1, topP: 1e-9, minP: 1 };
    expect(filter(weights, params)).toBe(1);
    expect([...weights]).toEqual([0, 1, 0]);
  });
});
