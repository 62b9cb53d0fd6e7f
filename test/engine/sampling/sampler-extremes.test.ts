import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SamplingParams } from '../../../src/engine/request.ts';
import { processLogits } from '../../../src/engine/sampling/logit-processors.ts';
import { Sampler } from '../../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { logitsOf } from '../../support/logits-of.ts';

const VOCAB_SIZE = 40;
/** The smallest numbers above 0 of a double and of a float. */
const TINY = [5e-324, 1e-320, 2.2e-308, 1e-300, 1.4e-45, 1e-38];

const share = fc.oneof(
  fc.constantFrom(...TINY, 1),
  fc.double({ min: 5e-324, max: 1, noNaN: true }),
);
const temperature = fc.oneof(
  fc.constantFrom(0, ...TINY, 9.9e-6, 1e-5, 1.1e-5, 2, 1e30, 1e308),
  fc.double({ min: 0, max: 2, noNaN: true }),
);
const anyId = fc.constantFrom(
  ...Array(VOCAB_SIZE).keys(),
  -1,
  VOCAB_SIZE,
  2 ** 21 - 1,
  2 ** 31 - 1,
);
const idLists = fc.array(anyId, { maxLength: VOCAB_SIZE });
const bias = fc.oneof(fc.constantFrom(-100, 100, 3.4e38, -3.4e38), fc.float({ noNaN: true }));
const logits = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.float({ min: -40, max: 40, noNaN: true }) },
      { weight: 1, arbitrary: fc.constantFrom(NaN, -Infinity, 0, -0, 3.4e38, -3.4e38, 1e-45) },
    ),
    { minLength: VOCAB_SIZE, maxLength: VOCAB_SIZE },
  )
  .map((values) => Float32Array.from(values));

const sampling: fc.Arbitrary<SamplingParams> = fc.record({
  temperature,
  topK: fc.constantFrom(0, 1, 3, VOCAB_SIZE, 2 ** 31 - 1),
  topP: share,
  minP: fc.oneof(fc.constant(0), share),
  repetitionPenalty: fc.constantFrom(1, 0.01, 10, 1e-30, 1e30),
  presencePenalty: fc.constantFrom(0, -2, 2),
  frequencyPenalty: fc.constantFrom(0, -2, 2),
  seed: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
  logitBias: fc.option(
    fc.array(fc.tuple(anyId, bias), { maxLength: 10 }).map((entries) => ({
      tokenIds: Int32Array.from(entries, ([id]) => id),
      biases: Float32Array.from(entries, ([, value]) => value),
    })),
  ),
  allowedTokenIds: fc.option(idLists.map((ids) => Int32Array.from(ids))),
});

const masks = fc.option(fc.tuple(fc.integer(), fc.integer()));

const requests = fc
  .record({
    sampling,
    outputTokenIds: idLists.map((ids) => Int32Array.from(ids)),
    badWords: fc.array(
      fc.array(anyId, { minLength: 1, maxLength: 3 }).map((ids) => Int32Array.from(ids)),
      { maxLength: 5 },
    ),
    stopTokenIds: idLists,
    minTokens: fc.constantFrom(0, 2 ** 31 - 1),
    logprobs: fc.constantFrom(null, 0, 20, VOCAB_SIZE + 5),
  })
  .map(engineRequest);

describe('whatever a request asks for and a model computes', () => {
  it('the token is one of the vocabulary, and possible; where none is, the row fails', () => {
    let tokenMask: Int32Array | null = null;
    const sampler = new Sampler(VOCAB_SIZE, {
      constrain: (ready) => ({ ready, failures: [] }),
      maskOf: () => tokenMask ?? 'free',
    });
    fc.assert(
      fc.property(requests, logits, masks, (request, row, mask) => {
        const sequence = new Sequence(request);
        tokenMask = mask && Int32Array.from(mask);
        const processed = row.slice();
        processLogits(processed, sequence, tokenMask);
        const { sampled, failures } = sampler.sample(logitsOf(sequence, row));
        const possible = [...processed.keys()].filter((id) => (processed[id] ?? NaN) > -Infinity);
        const isValid = possible.length > 0 && !processed.includes(Infinity);
        expect(failures.length).toBe(isValid ? 0 : 1);
        expect(isValid ? possible : [undefined]).toContain(sampled[0]?.tokens[0]?.tokenId);
      }),
      { numRuns: 5000 },
    );
  });

  it('so it is where only the likeliest tokens came from a device', () => {
    const sampler = new Sampler(VOCAB_SIZE);
    const device = fc.record({
      tokenIds: fc.array(fc.oneof(fc.nat(VOCAB_SIZE - 1), anyId), { minLength: 1, maxLength: 8 }),
      restWeight: fc.constantFrom(0, -1e-7, 3, NaN, Infinity),
    });
    fc.assert(
      fc.property(sampling, logits, device, (params, row, { tokenIds, restWeight }) => {
        const sequence = new Sequence(engineRequest({ sampling: params }));
        const candidates = { tokenIds: Int32Array.from(tokenIds), restWeight };
        const some = row.slice(0, tokenIds.length);
        const { sampled } = sampler.sample(logitsOf(sequence, some, candidates));
        for (const { tokenId } of sampled.flatMap(({ tokens }) => tokens)) {
          expect(tokenId).toBeGreaterThanOrEqual(0);
          expect(tokenId).toBeLessThan(VOCAB_SIZE);
          expect(tokenIds.filter((_, at) => (some[at] ?? NaN) > -Infinity)).toContain(tokenId);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it.each([1e-320, 5e-324, 1e-300, 9e-6])('temperature %d takes the likeliest', (low) => {
    const sequence = new Sequence(engineRequest({ sampling: { temperature: low, topP: 1e-320 } }));
    const { sampled } = new Sampler(3).sample(logitsOf(sequence, Float32Array.of(1, 3, 2)));
    expect(sampled.map(({ tokens }) => tokens)).toEqual([[{ tokenId: 1 }]]);
  });
});

describe('penalties of a text that grows', () => {
  it('are those of the same text counted anew', () => {
    const grown = { repetitionPenalty: 1.3, presencePenalty: 0.5, frequencyPenalty: 0.25 };
    const ids = fc.array(fc.nat(VOCAB_SIZE - 1), { minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(ids, logits, (output, row) => {
        const sequence = new Sequence(engineRequest({ sampling: grown }));
        for (const [index, tokenId] of output.entries()) {
          sequence.append(tokenId);
          const outputTokenIds = Int32Array.from(output.slice(0, index + 1));
          const anew = new Sequence(engineRequest({ sampling: grown, outputTokenIds }));
          const [one, other] = [row.slice(), row.slice()];
          processLogits(one, sequence);
          processLogits(other, anew);
          expect(one).toEqual(other);
        }
      }),
    );
  });

  it('cost a step no look at the whole text', () => {
    const outputTokenIds = new Int32Array(100_000);
    const sequence = new Sequence(engineRequest({ outputTokenIds }));
    const before = sequence.countOutput();
    let numRead = 0;
    const text = new Proxy(sequence.tokenIds(sequence.numPromptTokens), {
      get: (target, key) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) numRead++;
        return Reflect.get(target, key, target);
      },
    });
    before.countUpTo(text);
    expect(numRead).toBe(0);
    expect(before.counts).toEqual([100_000]);
  });
});
