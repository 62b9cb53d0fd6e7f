import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { processLogits } from '../../../src/engine/sampling/logit-processors.ts';
import type { EngineRequest } from '../../../src/engine/request.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest } from '../../support/engine-requests.ts';

const VOCAB_SIZE = 12;

const tokenId = fc.nat({ max: VOCAB_SIZE - 1 });
const tokenIds = (max: number) => fc.array(tokenId, { maxLength: max });
const ints = (arbitrary: fc.Arbitrary<number[]>) =>
  arbitrary.map((values) => Int32Array.from(values));

const requests = fc
  .record({
    prompt: ints(fc.array(tokenId, { minLength: 1, maxLength: 6 })),
    output: ints(tokenIds(6)),
    minTokens: fc.nat({ max: 8 }),
    stopTokenIds: tokenIds(3),
    badWords: fc.array(ints(fc.array(tokenId, { minLength: 1, maxLength: 3 })), { maxLength: 5 }),
    allowed: fc.option(fc.uniqueArray(tokenId, { minLength: 1, maxLength: VOCAB_SIZE })),
    bias: fc.uniqueArray(fc.tuple(tokenId, fc.integer({ min: -100, max: 100 })), {
      maxLength: 5,
      selector: ([id]) => id,
    }),
    repetitionPenalty: fc.constantFrom(1, 1.5),
    presencePenalty: fc.constantFrom(0, 0.5),
    frequencyPenalty: fc.constantFrom(0, -0.25),
  })
  .map(({ prompt, output, allowed, bias, ...rest }) => {
    const { repetitionPenalty, presencePenalty, frequencyPenalty, ...fields } = rest;
    return engineRequest({
      ...fields,
      promptTokenIds: prompt,
      outputTokenIds: output,
      sampling: {
        repetitionPenalty,
        presencePenalty,
        frequencyPenalty,
        allowedTokenIds: allowed === null ? null : Int32Array.from(allowed),
        logitBias:
          bias.length === 0
            ? null
            : {
                tokenIds: Int32Array.from(bias, ([id]) => id),
                biases: Float32Array.from(bias, ([, value]) => value),
              },
      },
    });
  });

/** The rules, one token at a time. */
function slowly(logits: Float32Array, request: EngineRequest): number[] {
  const { sampling, badWords, stopTokenIds, minTokens } = request;
  const output = [...request.outputTokenIds];
  const all = [...request.promptTokenIds, ...output];
  const isAllowed = (id: number) => sampling.allowedTokenIds?.includes(id) ?? true;
  const isBanned = (id: number) =>
    (output.length < minTokens && stopTokenIds.includes(id)) ||
    badWords.some((word) => {
      const text = [...output, id].slice(-word.length);
      return text.length === word.length && text.every((other, index) => other === word[index]);
    });
  const ids = [...logits.keys()];
  const isStuck =
    sampling.allowedTokenIds !== null && ids.filter(isAllowed).every((id) => isBanned(id));
  return ids.map((id) => {
    if (!isAllowed(id) || (!isStuck && isBanned(id))) return -Infinity;
    const index = sampling.logitBias?.tokenIds.indexOf(id) ?? -1;
    let logit = (logits[id] ?? 0) + (sampling.logitBias?.biases[index] ?? 0);
    if (all.includes(id)) {
      logit = logit > 0 ? logit / sampling.repetitionPenalty : logit * sampling.repetitionPenalty;
    }
    const count = output.filter((other) => other === id).length;
    if (count > 0) logit -= sampling.presencePenalty + count * sampling.frequencyPenalty;
    return logit;
  });
}

describe('processLogits', () => {
  const logitsOf = fc
    .array(fc.integer({ min: -20, max: 20 }), { minLength: VOCAB_SIZE, maxLength: VOCAB_SIZE })
    .map((values) => Float32Array.from(values));

  it('does what the rules say, token by token', () => {
    fc.assert(
      fc.property(logitsOf, requests, (logits, request) => {
        const expected = slowly(logits, request);
        processLogits(logits, new Sequence(request));
        const wrong = expected.filter((wanted, id) => {
          const found = logits[id] ?? NaN;
          return found !== wanted && !(Math.abs(found - wanted) < 1e-4);
        });
        expect(wrong).toEqual([]);
      }),
      { numRuns: 2000 },
    );
  });

  it('always leaves one of the allowed tokens', () => {
    const request = engineRequest({
      minTokens: 3,
      stopTokenIds: [2],
      badWords: [Int32Array.of(5)],
      sampling: { allowedTokenIds: Int32Array.of(2, 5) },
    });
    const logits = new Float32Array(VOCAB_SIZE);
    processLogits(logits, new Sequence(request));
    expect([...logits.keys()].filter((id) => logits[id] === 0)).toEqual([2, 5]);
  });

  it('looks for bad words in the output alone', () => {
    const logits = new Float32Array(VOCAB_SIZE);
    const request = engineRequest({
      promptTokenIds: Int32Array.of(7),
      badWords: [Int32Array.of(7, 8)],
    });
    processLogits(logits, new Sequence(request));
    expect(logits[8]).toBe(0);
    const later = engineRequest({ ...request, outputTokenIds: Int32Array.of(1, 7) });
    processLogits(logits, new Sequence(later));
    expect(logits[8]).toBe(-Infinity);
  });
});

describe('a grammar and bans that leave nothing', () => {
  /** Allows tokens 3 and 4. */
  const tokenMask = Int32Array.of((1 << 3) | (1 << 4));

  function allowedAfter(overrides: Parameters<typeof engineRequest>[0]): number[] {
    const sequence = new Sequence(engineRequest(overrides));
    const logits = new Float32Array(VOCAB_SIZE);
    processLogits(logits, sequence, tokenMask);
    return [...logits.keys()].filter((id) => logits[id] !== -Infinity);
  }

  it('is decided for the grammar', () => {
    expect(allowedAfter({ sampling: { allowedTokenIds: Int32Array.of(0, 1) } })).toEqual([3, 4]);
    const badWords = [Int32Array.of(3), Int32Array.of(4)];
    expect(allowedAfter({ badWords })).toEqual([3, 4]);
    expect(allowedAfter({ badWords, sampling: { allowedTokenIds: Int32Array.of(3) } })).toEqual([
      3,
    ]);
  });

  it('is not touched where something is left', () => {
    expect(allowedAfter({ sampling: { allowedTokenIds: Int32Array.of(0, 4) } })).toEqual([4]);
    expect(allowedAfter({ badWords: [Int32Array.of(3)] })).toEqual([4]);
  });
});
