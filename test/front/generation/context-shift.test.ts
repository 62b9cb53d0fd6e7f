/** Texts that go on beyond their context, over an engine whose tokens depend on all that it has read. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TokenBatch } from '../../../src/front/engine-process/engine-contract.ts';
import { choiceSeed } from '../../../src/front/generation/choice-seed.ts';
import type { ContextShift } from '../../../src/front/generation/generation.ts';
import { plainRequest } from '../../../src/front/generation/plain-request.ts';
import { GREEDY } from '../../../src/front/generation/greedy-sampling.ts';
import { ShiftedBatches } from '../../../src/front/generation/shifted-batches.ts';
import { FakeEngine, type FakeEngineOptions, type Script } from '../../support/fake-engine.ts';

const never = new AbortController().signal;
const VOCABULARY = 1009;

/** A token that depends on each one before it, and on the seed. */
function nextToken(text: readonly number[], seed: bigint): number {
  return text.reduce((hash, token) => (hash * 31 + token + 1) % VOCABULARY, Number(seed % 997n));
}

const reading: Script = function* read(promptTokenIds, { sampling }) {
  const text = [...promptTokenIds];
  for (;;) {
    const token = nextToken(text, sampling.seed);
    text.push(token);
    yield token;
  }
};

/** The rule in its plainest form: a list that loses half of what comes after its first tokens. */
function expected(prompt: readonly number[], maxTokens: number, shift: ContextShift): number[] {
  let text = [...prompt];
  let numShifts = 0;
  return Array.from({ length: maxTokens }, () => {
    if (text.length === shift.contextLength) {
      const numLeftOut = Math.floor((text.length - shift.numKept) / 2);
      text = [...text.slice(0, shift.numKept), ...text.slice(shift.numKept + numLeftOut)];
      numShifts++;
    }
    const token = nextToken(text, choiceSeed(5n, numShifts));
    text.push(token);
    return token;
  });
}

interface Case {
  readonly prompt: readonly number[];
  readonly maxTokens: number;
  readonly shift: ContextShift;
  readonly numKnown: number;
  readonly tokensPerBatch: number;
}

const cases: fc.Arbitrary<Case> = fc.integer({ min: 4, max: 40 }).chain((contextLength) =>
  fc.record({
    prompt: fc.array(fc.nat(VOCABULARY - 1), { minLength: 1, maxLength: contextLength - 1 }),
    maxTokens: fc.integer({ min: 1, max: 6 * contextLength }),
    shift: fc.record({
      contextLength: fc.constant(contextLength),
      numKept: fc.nat(Math.floor(contextLength / 2)),
    }),
    numKnown: fc.nat(3 * contextLength),
    tokensPerBatch: fc.integer({ min: 1, max: 5 }),
  }),
);

async function run(
  { prompt, maxTokens, shift }: Omit<Case, 'numKnown' | 'tokensPerBatch'>,
  known: readonly number[],
  options: FakeEngineOptions = {},
) {
  const engine = new FakeEngine(reading, options);
  const wanted = plainRequest(Int32Array.from(prompt), maxTokens, {
    sampling: { ...GREEDY, seed: 5n },
    outputTokenIds: Int32Array.from(known),
    minTokens: Math.floor(maxTokens / 2),
  });
  const batches: TokenBatch[] = [];
  for await (const batch of new ShiftedBatches(engine, wanted, shift, never)) batches.push(batch);
  return { engine, batches };
}

describe('a text beyond its context', () => {
  it('goes on as from the shifted prompt, whatever is known of it before', async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ numKnown, tokensPerBatch, ...asked }) => {
        const { prompt, maxTokens, shift } = asked;
        const whole = expected(prompt, maxTokens, shift);
        const known = whole.slice(0, Math.min(numKnown, maxTokens - 1));
        const { engine, batches } = await run(asked, known, { tokensPerBatch });
        expect([...known, ...batches.flatMap(({ tokenIds }) => tokenIds)]).toEqual(whole);
        const reasons = batches.map(({ finishReason }) => finishReason);
        expect(reasons.pop()).toBe('length');
        expect(reasons.every((reason) => reason === null)).toBe(true);
        for (const request of engine.requests) {
          const { promptTokenIds, outputTokenIds, maxTokens: most } = request;
          expect(promptTokenIds.length + most).toBeLessThanOrEqual(shift.contextLength);
          expect(outputTokenIds.length).toBeLessThan(most);
        }
        expect(engine.running).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it('counts what is found in the cache of the prompt that was asked alone', async () => {
    const asked = { prompt: [1, 2], maxTokens: 20, shift: { contextLength: 8, numKept: 1 } };
    const { engine, batches } = await run(asked, [], { numCachedTokens: 1 });
    expect(engine.requests.length).toBeGreaterThan(2);
    const found = batches.flatMap(({ numCachedTokens }) => numCachedTokens ?? []);
    expect(found).toEqual([1]);
    expect(engine.requests.map(({ minTokens }) => minTokens)).toEqual([10, 4, 1, 0, 0, 0]);
  });

  it('frees its sequence when it is left', async () => {
    const engine = new FakeEngine(reading);
    const wanted = plainRequest(Int32Array.of(1, 2), 50);
    const shift = { contextLength: 8, numKept: 1 };
    let numTokens = 0;
    for await (const { tokenIds } of new ShiftedBatches(engine, wanted, shift, never)) {
      numTokens += tokenIds.length;
      if (numTokens === 9) break;
    }
    expect(engine.running).toBe(0);
    expect(engine.requests).toHaveLength(2);
  });

  it('ends with its signal', async () => {
    const ending = new AbortController();
    const engine = new FakeEngine(reading, { heldAfter: 0, numFree: 1 });
    const wanted = plainRequest(Int32Array.of(1, 2), 50);
    const shift = { contextLength: 8, numKept: 1 };
    const batches = new ShiftedBatches(engine, wanted, shift, ending.signal);
    for (let token = 0; token < 6; token++) await batches.next();
    // The second sequence is held.
    const next = batches.next();
    ending.abort(new Error('gone'));
    await expect(next).rejects.toThrow('gone');
    expect(engine.running).toBe(0);
  });
});
