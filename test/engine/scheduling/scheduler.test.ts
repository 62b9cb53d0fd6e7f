import { describe, expect, it } from 'vitest';
import { CostModel } from '../../../src/engine/scheduling/cost-model.ts';
import type { TokenOutput } from '../../../src/engine/request.ts';
import { KvCache } from '../../../src/engine/kv-cache/slot-cache.ts';
import { Scheduler } from '../../../src/engine/scheduling/scheduler.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest } from '../../support/engine-requests.ts';

/** Prompt tokens that go beside one decoding sequence while so many long prompts are about. */
function prefillBeside(numPrompts: number): number {
  const scheduler = new Scheduler(
    new KvCache({ numRows: 32, capacity: 1024 }),
    new CostModel(),
    // One long prompt takes up the budget: the others wait though there are rows.
    { maxNumSeqs: 32, maxNumBatchedTokens: 512, targetItlMs: null, batching: 'continuous' },
  );
  const decoding = new Sequence(engineRequest({ id: 1, promptTokenIds: Int32Array.of(1) }));
  scheduler.add(decoding);
  const first = scheduler.plan();
  if (!first) throw new Error('there is nothing to do');
  scheduler.commit(first, [{ sequence: decoding, tokenId: 5 }], []);
  for (let index = 0; index < numPrompts; index++) {
    const promptTokenIds = new Int32Array(600).fill(index + 10);
    scheduler.add(new Sequence(engineRequest({ id: index + 2, promptTokenIds, arrivalMs: 1 })));
  }
  const plan = scheduler.plan();
  expect(plan?.decode).toHaveLength(1);
  expect(scheduler.running).toHaveLength(2);
  return (plan?.numBatchedTokens ?? 0) - 1;
}

/** What is told of the prompt's tokens in the cache, where another began with so many of them. */
function cachedOf(numShared: number, salts: readonly [string, string] = ['', '']) {
  const scheduler = new Scheduler(new KvCache({ numRows: 4, capacity: 128 }), new CostModel(), {
    maxNumSeqs: 4,
    maxNumBatchedTokens: 512,
    targetItlMs: null,
    batching: 'continuous',
  });
  let outputs: readonly TokenOutput[] = [];
  for (const [index, cacheSalt] of salts.entries()) {
    const promptTokenIds = new Int32Array(100).fill(7).fill(index + 10, numShared);
    const request = { id: index, promptTokenIds, cacheSalt, maxTokens: 1, arrivalMs: index };
    const sequence = new Sequence(engineRequest(request));
    scheduler.add(sequence);
    const plan = scheduler.plan();
    if (!plan) throw new Error('there is nothing to do');
    outputs = scheduler.commit(plan, [{ sequence, tokenId: 5 }], []);
  }
  return { told: outputs[0]?.numCachedTokens, counted: scheduler.counters.prefixCacheHits };
}

describe('the scheduler', () => {
  it.each([
    [15, 0],
    [16, 16],
    [17, 16],
    [31, 16],
    [32, 32],
    [99, 96],
  ])('of %d tokens found in the cache tells %d: whole blocks', (numShared, told) => {
    expect(cachedOf(numShared)).toEqual({ told, counted: told });
  });

  it('finds nothing in the cache under another salt', () => {
    expect(cachedOf(99, ['["a",""]', '["b",""]'])).toEqual({ told: 0, counted: 0 });
  });

  it('prefills faster when prompts wait that could have a row', () => {
    expect(prefillBeside(20)).toBeGreaterThan(2 * prefillBeside(1));
  });
});
