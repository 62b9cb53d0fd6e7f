import { deserialize, serialize } from 'node:v8';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  forEachToken,
  type StepMessage,
  toStepMessage,
} from '../../../src/engine/process/step-message.ts';
import type { TokenOutput } from '../../../src/engine/request.ts';
import { IDLE_STATS } from '../../../src/front/engine-process/engine-contract.ts';

const logprobs = fc.nat(9).map((tokenId) => ({
  tokenIds: Int32Array.of(tokenId),
  logprobs: Float32Array.of(-0.5),
  ranks: Int32Array.of(1),
}));

const output: fc.Arbitrary<TokenOutput> = fc
  .record(
    {
      id: fc.maxSafeNat(),
      tokenId: fc.integer({ min: -1, max: 300_000 }),
      finishReason: fc.constantFrom(null, null, 'stop' as const, 'error' as const),
      error: fc.string(),
      isOfGrammar: fc.boolean(),
      numCachedTokens: fc.nat(),
      logprobs,
      promptLogprobs: logprobs,
    },
    { requiredKeys: ['id', 'tokenId', 'finishReason'] },
  )
  // Only what fails has an error.
  .map(({ error, isOfGrammar, ...rest }) =>
    rest.finishReason === 'error'
      ? { ...rest, error: error ?? '', isOfGrammar: isOfGrammar ?? false }
      : rest,
  );

test('a step comes out of its message as it went in', () => {
  fc.assert(
    fc.property(fc.array(output, { maxLength: 40 }), (outputs) => {
      const message: StepMessage = deserialize(serialize(toStepMessage(outputs, IDLE_STATS)));
      const received: TokenOutput[] = [];
      forEachToken(message, (id, tokenId, details) =>
        received.push({ id, tokenId, finishReason: null, ...details }),
      );
      expect(received).toEqual(outputs);
      expect(message.stats).toEqual(IDLE_STATS);
    }),
  );
});

test('tokens without anything else are no objects', () => {
  const outputs = Array.from({ length: 1024 }, (_, id) => ({ id, tokenId: 7, finishReason: null }));
  expect(toStepMessage(outputs, IDLE_STATS).details).toEqual([]);
});
