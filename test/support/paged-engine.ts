import { expect } from 'vitest';
import { CostModel } from '../../src/engine/scheduling/cost-model.ts';
import { Engine } from '../../src/engine/engine.ts';
import { PagedDecoder } from '../../src/engine/gpu/paged/paged-decoder.ts';
import { PagedKvCache } from '../../src/engine/gpu/paged/paged-kv-cache.ts';
import { Sampler } from '../../src/engine/sampling/sampler.ts';
import { Scheduler } from '../../src/engine/scheduling/scheduler.ts';
import { Speculator } from '../../src/engine/speculation/speculator.ts';
import { FAKE_VOCAB_SIZE } from './fake-decoder.ts';
import { FakePagedModel } from './fake-paged-model.ts';
import { RandomDrafts } from './random-drafts.ts';

/** Positions per sequence. */
export const CAPACITY = 96;
export interface PagedShape {
  readonly numRows: number;
  readonly blockSize: number;
  readonly numBlocks: number;
  readonly maxNumBatchedTokens: number;
  readonly prefixCaching: boolean;
  readonly draftSeed: number | null;
  readonly targetItlMs?: number;
}

/** An engine over the fake paged model that checks the invariants around every step. */
export class PagedEngine {
  readonly kvCache: PagedKvCache;
  readonly scheduler: Scheduler;
  readonly model: FakePagedModel;
  readonly engine: Engine;
  readonly tokens = new Map<number, number[]>();
  readonly errors = new Map<number, string>();
  numCopies = 0;

  constructor(shape: PagedShape) {
    const { numRows, blockSize, numBlocks, maxNumBatchedTokens, prefixCaching, draftSeed } = shape;
    this.kvCache = new PagedKvCache({
      numRows,
      capacity: CAPACITY,
      numBlocks,
      blockSize,
      prefixCaching,
    });
    const { pool } = this.kvCache;
    this.model = new FakePagedModel(numBlocks, blockSize, (block) => {
      const numHolders = pool.refCount(block);
      if (numHolders !== 1) throw new Error(`block ${block} of ${numHolders} is written to`);
    });
    const costs = new CostModel();
    const batching = 'continuous';
    const limits = {
      maxNumSeqs: numRows,
      maxNumBatchedTokens,
      targetItlMs: shape.targetItlMs ?? null,
      batching,
    } as const;
    this.scheduler = new Scheduler(this.kvCache, costs, limits);
    const decoder = new PagedDecoder(this.model);
    this.engine = new Engine({
      scheduler: this.scheduler,
      kvCache: this.kvCache,
      sampler: new Sampler(FAKE_VOCAB_SIZE),
      costs,
      decoder: {
        rearrange: (operations) => {
          this.numCopies += operations.length;
          decoder.rearrange(operations);
        },
        execute: (plan) => decoder.execute(plan),
        release: () => {},
      },
      speculator:
        draftSeed === null
          ? null
          : new Speculator({
              source: new RandomDrafts(draftSeed, true),
              kvCache: this.kvCache,
              costs,
              maxTokens: 6,
              maxNumBatchedTokens,
              minGain: 0,
            }),
    });
  }

  step(): void {
    for (const { id, tokenId, error } of this.engine.step()) {
      if (error !== undefined) this.errors.set(id, error);
      else this.tokens.set(id, [...(this.tokens.get(id) ?? []), tokenId]);
    }
    this.#checkState();
  }

  #checkState(): void {
    const { pool, blockSize } = this.kvCache;
    const holds = new Map<number, number>();
    for (const sequence of this.scheduler.running) {
      expect(this.kvCache.ownerOf(sequence.row)).toBe(sequence);
      const { blockTable, numComputedTokens } = sequence;
      expect(blockTable.length * blockSize).toBeGreaterThanOrEqual(numComputedTokens);
      expect(this.model.text(blockTable, numComputedTokens)).toEqual([
        ...sequence.tokenIds(0, numComputedTokens),
      ]);
      for (const block of blockTable) holds.set(block, (holds.get(block) ?? 0) + 1);
    }
    expect(pool.numFree + holds.size).toBe(pool.numBlocks);
    for (const [block, count] of holds) expect(pool.refCount(block)).toBe(count);
    for (const { row, blockTable } of this.scheduler.waiting) {
      expect({ row, blockTable }).toEqual({ row: -1, blockTable: [] });
    }
  }
}
