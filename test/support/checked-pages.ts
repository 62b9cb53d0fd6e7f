// Not vitest's expect: with a million checks, most of the time would be its own.
import assert from 'node:assert/strict';
import { PagedDecoder } from '../../src/engine/gpu/paged/paged-decoder.ts';
import { PagedKvCache } from '../../src/engine/gpu/paged/paged-kv-cache.ts';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import type { CheckedMemory } from './checked-memory.ts';
import { FakePagedModel } from './fake-paged-model.ts';

export interface PagesShape {
  readonly maxNumSeqs: number;
  readonly capacity: number;
  readonly pageLength: number;
  readonly numPages: number;
  readonly prefixCaching: boolean;
}

/** A KV cache in pages (PagedAttention) over the fake paged model. */
export class CheckedPages implements CheckedMemory {
  readonly kvCache: PagedKvCache;
  readonly model: FakePagedModel;
  readonly decoder: PagedDecoder;
  readonly costs = new CostModel({ runsStepsWhole: true });

  constructor({ maxNumSeqs, capacity, pageLength, numPages, prefixCaching }: PagesShape) {
    this.kvCache = new PagedKvCache({
      numSlots: maxNumSeqs,
      capacity,
      numPages,
      pageLength,
      prefixCaching,
    });
    const { pool } = this.kvCache;
    this.model = new FakePagedModel(numPages, pageLength, (page) => {
      const numHolders = pool.refCount(page);
      if (numHolders !== 1) throw new Error(`page ${page} of ${numHolders} is written to`);
    });
    this.decoder = new PagedDecoder(this.model);
  }

  check(running: readonly Sequence[]): void {
    const { pool, pageLength } = this.kvCache;
    const holds = new Map<number, number>();
    for (const sequence of running) {
      const { pageTable, numComputedTokens } = sequence;
      assert.ok(pageTable.length * pageLength >= numComputedTokens, 'too few pages');
      const held = this.model.text(pageTable, numComputedTokens);
      assert.deepEqual(held, [...sequence.tokenIds(0, numComputedTokens)]);
      for (const page of pageTable) holds.set(page, (holds.get(page) ?? 0) + 1);
    }
    assert.equal(new Set(running.map(({ slot }) => slot)).size, running.length);
    assert.equal(pool.numFree + holds.size, pool.numPages);
    for (const [page, count] of holds) assert.equal(pool.refCount(page), count);
  }
}
