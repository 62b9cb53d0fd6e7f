import { expect } from 'vitest';
import { PagedDecoder } from '../../src/engine/gpu/paged/paged-decoder.ts';
import { PagedKvCache } from '../../src/engine/gpu/paged/paged-kv-cache.ts';
import { CostModel } from '../../src/engine/costs/cost-model.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import type { CheckedMemory } from './checked-memory.ts';
import { FakePagedModel } from './fake-paged-model.ts';

export interface BlocksShape {
  readonly maxNumSeqs: number;
  readonly capacity: number;
  readonly blockSize: number;
  readonly numBlocks: number;
  readonly prefixCaching: boolean;
}

/** A KV cache in blocks (PagedAttention) over the fake paged model. */
export class CheckedBlocks implements CheckedMemory {
  readonly kvCache: PagedKvCache;
  readonly model: FakePagedModel;
  readonly decoder: PagedDecoder;
  readonly costs = new CostModel({ runsStepsWhole: true });

  constructor({ maxNumSeqs, capacity, blockSize, numBlocks, prefixCaching }: BlocksShape) {
    this.kvCache = new PagedKvCache({
      numSlots: maxNumSeqs,
      capacity,
      numBlocks,
      blockSize,
      prefixCaching,
    });
    const { pool } = this.kvCache;
    this.model = new FakePagedModel(numBlocks, blockSize, (block) => {
      const numHolders = pool.refCount(block);
      if (numHolders !== 1) throw new Error(`block ${block} of ${numHolders} is written to`);
    });
    this.decoder = new PagedDecoder(this.model);
  }

  check(running: readonly Sequence[]): void {
    const { pool, blockSize } = this.kvCache;
    const holds = new Map<number, number>();
    for (const sequence of running) {
      const { blockTable, numComputedTokens } = sequence;
      expect(blockTable.length * blockSize).toBeGreaterThanOrEqual(numComputedTokens);
      expect(this.model.text(blockTable, numComputedTokens)).toEqual([
        ...sequence.tokenIds(0, numComputedTokens),
      ]);
      for (const block of blockTable) holds.set(block, (holds.get(block) ?? 0) + 1);
    }
    expect(new Set(running.map(({ slot }) => slot)).size).toBe(running.length);
    expect(pool.numFree + holds.size).toBe(pool.numBlocks);
    for (const [block, count] of holds) expect(pool.refCount(block)).toBe(count);
  }
}
