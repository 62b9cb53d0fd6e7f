import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { OPTIONS, pass, RUN_MS, startBatcher } from './support/batcher.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Longer than all that is submitted takes, one by one. */
const LONG_MS = 2000;

const request = fc.record({
  at: fc.nat(100),
  rows: fc.integer({ min: 1, max: 4 }),
  tokens: fc.integer({ min: 1, max: 60 }),
  bytes: fc.integer({ min: 1, max: 10 }),
  shape: fc.constantFrom('', 'x'),
  priority: fc.nat(2),
  client: fc.constantFrom('a', 'b', 'c'),
  isBad: fc.boolean(),
  /** Milliseconds after which its caller leaves. */
  leavesAfter: fc.option(fc.nat(40), { nil: null }),
  timeoutMs: fc.option(fc.integer({ min: 1, max: 50 }), { nil: null }),
});

const options = fc.record({
  maxBatchSize: fc.integer({ min: 4, max: 8 }),
  preferredBatchSizes: fc.subarray([2, 3, 4]),
  maxQueueDelayMs: fc.constantFrom(0, 5, 25),
  maxBatchBytes: fc.constantFrom(Infinity, 20),
  maxBatchTokens: fc.constantFrom(null, 120),
  preserveOrdering: fc.boolean(),
  timeoutAction: fc.constantFrom('reject' as const, 'delay' as const),
});

it('loses nothing, runs nothing twice, and keeps to its bounds and to the delay', async () => {
  await fc.assert(
    fc.asyncProperty(
      options,
      fc.array(request, { maxLength: 30 }),
      async ({ timeoutAction, ...rules }, requests) => {
        const { batcher, submit, ran, answers, now } = startBatcher({
          ...rules,
          queue: { ...OPTIONS.queue, timeoutAction },
        });
        const all = new Map(
          requests.map((each, place) => [`${each.isBad ? 'bad' : 'good'} ${place}`, each]),
        );
        for (const [input, { at, client, leavesAfter, ...each }] of all) {
          setTimeout(() => {
            const caller = new AbortController();
            if (leavesAfter !== null) {
              setTimeout(() => caller.abort(new Error('left')), leavesAfter);
            }
            submit(input, each, { client, signal: caller.signal });
          }, at);
        }
        await pass(LONG_MS);
        expect(now()).toBeGreaterThanOrEqual(LONG_MS);

        const inputs = ran.flatMap((batch) => batch.inputs);
        expect(new Set(inputs).size).toBe(inputs.length);
        for (const [input, { leavesAfter, timeoutMs }] of all) {
          const { answer } = answers.get(input) ?? {};
          const answersOf = inputs.includes(input)
            ? [input.toUpperCase(), `${input} failed`, leavesAfter === null ? '' : 'left']
            : ['left', `the request waited for ${timeoutMs} ms, which is the limit`];
          expect(answersOf).toContain(answer);
        }

        let freeAt = 0;
        for (const { at, inputs: batch } of ran) {
          const members = batch.map((input) => {
            const found = all.get(input);
            if (!found) throw new Error('who is that?');
            return found;
          });
          const sum = (of: 'rows' | 'bytes') =>
            members.reduce((total, member) => total + member[of], 0);
          const rows = sum('rows');
          const tokens = rows * Math.max(...members.map((member) => member.tokens));
          // One that is larger by itself has a batch of its own.
          const isAlone = members.length === 1;
          const { maxBatchBytes, maxBatchTokens } = rules;
          expect(rows).toBeLessThanOrEqual(rules.maxBatchSize);
          expect(isAlone || sum('bytes') <= maxBatchBytes).toBe(true);
          expect(isAlone || tokens <= (maxBatchTokens ?? Infinity)).toBe(true);
          expect(new Set(members.map(({ shape }) => shape)).size).toBe(1);
          // One batch at a time; a free model lets nobody wait for longer than the delay.
          expect(at).toBeGreaterThanOrEqual(freeAt);
          const oldest = Math.min(...members.map((member) => member.at));
          expect(at).toBeLessThanOrEqual(Math.max(oldest + rules.maxQueueDelayMs, freeAt, oldest));
          freeAt = at + RUN_MS;
        }
        const { numWaiting, waitingBytes, numRunning } = batcher.stats;
        expect({ numWaiting, waitingBytes, numRunning }).toEqual({
          numWaiting: 0,
          waitingBytes: 0,
          numRunning: 0,
        });
      },
    ),
    { numRuns: 300 },
  );
});
