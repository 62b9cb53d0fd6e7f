import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { GenerationDelta } from '../../../src/front/generation/generation.ts';
import { TopTokens } from '../../../src/front/generation/token-logprob.ts';
import { decodeAnswer, encodeAnswer } from '../../../src/front/response-cache/answer-codec.ts';
import { joinByChoice } from '../../../src/front/generation/merge-deltas.ts';

const id = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const logprob = fc.oneof(fc.float({ max: 0, noNaN: true }), fc.constant(-Infinity));
const entry = fc.record({
  tokenId: id,
  logprob,
  rank: id,
  textOffset: id,
  isShown: fc.boolean(),
  top: fc.array(fc.tuple(id, logprob), { maxLength: 4 }).map(
    (top) =>
      new TopTokens(
        top.map(([tokenId]) => tokenId),
        top.map(([, value]) => value),
      ),
  ),
});

const delta: fc.Arbitrary<GenerationDelta> = fc.record({
  choice: fc.option(fc.nat(3), { nil: undefined }),
  text: fc.string({ unit: 'binary' }),
  tokenIds: fc.array(id, { maxLength: 5 }),
  finishReason: fc.constantFrom(null, 'stop' as const, 'length' as const),
  stopReason: fc.oneof(fc.constant(null), fc.string({ unit: 'binary' }), id),
  logprobs: fc.option(fc.array(entry, { maxLength: 3 }), { nil: undefined }),
  promptLogprobs: fc.option(fc.array(entry, { maxLength: 3 }), { nil: undefined }),
  numCachedTokens: fc.option(id, { nil: undefined }),
  textOffsets: fc.option(fc.array(id, { maxLength: 5 }), { nil: undefined }),
});

test('what comes out is what went in, joined by choice', () => {
  fc.assert(
    fc.property(fc.array(delta, { maxLength: 20 }), (deltas) => {
      const bytes = encodeAnswer(deltas);
      expect(bytes).not.toBeNull();
      expect([...decodeAnswer(bytes ?? new Uint8Array())]).toEqual(joinByChoice(deltas));
    }),
  );
});

test('joining loses nothing of a choice', () => {
  fc.assert(
    fc.property(fc.array(delta, { maxLength: 20 }), (deltas) => {
      const joined = joinByChoice(deltas);
      for (const choice of [0, 1, 2, 3]) {
        const of = (all: readonly GenerationDelta[]) =>
          all.filter((each) => (each.choice ?? 0) === choice);
        const told = (all: readonly GenerationDelta[]) => ({
          text: of(all)
            .map(({ text }) => text)
            .join(''),
          tokenIds: of(all).flatMap(({ tokenIds }) => tokenIds),
          logprobs: of(all).flatMap(({ logprobs = [] }) => logprobs),
          textOffsets: of(all).flatMap(({ textOffsets = [] }) => textOffsets),
        });
        expect(told(joined)).toEqual(told(deltas));
      }
    }),
  );
});

test('half of a surrogate pair has no bytes: such an answer is not kept', () => {
  const half = { text: '\ud83d', tokenIds: [1], finishReason: 'stop', stopReason: null } as const;
  expect(encodeAnswer([half])).toBeNull();
});

test('bytes that are no answer are refused, wherever they end', () => {
  const whole = encodeAnswer([
    { text: 'Hi', tokenIds: [1, 2], finishReason: 'stop', stopReason: 'x', textOffsets: [0, 1] },
  ]);
  for (let end = 1; end < (whole?.length ?? 0); end++) {
    expect(() => [...decodeAnswer(whole?.subarray(0, end) ?? new Uint8Array())]).toThrow(
      RangeError,
    );
  }
});
