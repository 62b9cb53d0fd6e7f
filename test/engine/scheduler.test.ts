import { describe, expect, it } from 'vitest';
import { CostModel } from '../../src/engine/cost-model.ts';
import { KvCache } from '../../src/engine/kv-cache.ts';
import { Scheduler } from '../../src/engine/scheduler.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { engineRequest } from '../support/engine-requests.ts';

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

describe('the scheduler', () => {
  it('prefills faster when prompts wait that could have a row', () => {
    expect(prefillBeside(20)).toBeGreaterThan(2 * prefillBeside(1));
  });
});
