import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import type { TokenOutput } from '../../../src/engine/request.ts';
import { paddedWidth, type RunPadding } from '../../../src/engine/cpu/run-padding.ts';
import {
  type Arrival,
  bitsOf,
  buildSummit,
  COMPUTED,
  MAX_SEQS,
  openCrashing,
  runCrashing,
} from '../../support/crashing-engine.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { everyOrLong, orLong } from '../../support/long-runs.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

let salt = 0;

const reference = JSON.parse(readFileSync('models/summit/reference.json', 'utf8')) as {
  readonly prompts: readonly { readonly ids: number[] }[];
};
const TEXT = reference.prompts.flatMap(({ ids }) => ids);

const arrivals = fc
  .array(
    fc.record({
      atStep: fc.nat(12),
      start: fc.nat(TEXT.length - 70),
      length: fc.integer({ min: 1, max: 70 }),
      maxTokens: fc.integer({ min: 1, max: 8 }),
    }),
    { minLength: 1, maxLength: MAX_SEQS },
  )
  .map((all) =>
    all.map(({ atStep, start, length, maxTokens }, index): Arrival => {
      const promptTokenIds = Int32Array.from(TEXT.slice(start, start + length));
      // Taken from another's answer, a prompt's beginning would have been computed token by token.
      const options = { maxTokens, logprobs: 3, cacheSalt: `arrival ${index}` };
      const request = engineRequest({ id: 1 + index, promptTokenIds, ...options });
      return { atStep, request };
    }),
  );

const onLinux = needs(LINUX);

describe.each(everyOrLong(3, COMPUTED))(
  '%s with a KV cache of %s and kernels of %s',
  (...computed) => {
    it('computes the same bits in any batch, any chunks, after a crash', onLinux, async () => {
      const model = await buildSummit({ cacheDirectory: cache.path }, computed);
      const crashes = fc.uniqueArray(fc.integer({ min: 1, max: 20 }), { maxLength: 2 });
      const budget = fc.integer({ min: MAX_SEQS, max: 100 });
      const { engine, decoder } = openCrashing(model, 128);
      fc.assert(
        fc.property(arrivals, crashes, budget, (all, lost, maxNumBatchedTokens) => {
          const outputs = runCrashing(model, maxNumBatchedTokens, all, lost);
          for (const { request } of all) {
            // With a salt of its own no prefix is taken from another's text.
            engine.add({ ...request, cacheSalt: `${salt++}` });
            const alone: TokenOutput[] = [];
            while (engine.hasWork) alone.push(...engine.step());
            expect(bitsOf(outputs.get(request.id))).toEqual(bitsOf(alone));
          }
        }),
        { numRuns: orLong(2, 8) },
      );
      decoder.release();
    });
  },
);

describe('padding', () => {
  const EVEN: RunPadding = { minWidth: 2, isEven: true };

  it('gives runs an even number of tokens, and never changes any otherwise', () => {
    const lengths = fc.array(fc.record({ numTokens: fc.integer({ min: 1, max: 9 }) }), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(lengths, fc.nat(5), (segments, numDecoding) => {
        const longest = Math.max(...segments.map(({ numTokens }) => numTokens));
        expect(paddedWidth(segments, { minWidth: 1, isEven: false }, numDecoding)).toBe(longest);
        const width = paddedWidth(segments, EVEN, numDecoding);
        expect(width - Math.max(2, longest)).toBeOneOf([0, 1]);
        const isHopeless = segments.length % 2 === 0 && numDecoding % 2 === 1;
        expect((numDecoding + segments.length * width) % 2).toBe(isHopeless ? 1 : 0);
      }),
    );
  });
});
