import { expect } from 'vitest';
import { CostModel } from '../../src/engine/scheduling/cost-model.ts';
import type { DraftSource } from '../../src/engine/speculation/draft-source.ts';
import { Engine } from '../../src/engine/engine.ts';
import { KvCache } from '../../src/engine/kv-cache/slot-cache.ts';
import type { TokenOutput } from '../../src/engine/request.ts';
import { Sampler } from '../../src/engine/sampling/sampler.ts';
import { Scheduler } from '../../src/engine/scheduling/scheduler.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import { Speculator } from '../../src/engine/speculation/speculator.ts';
import type { StepPlan } from '../../src/engine/step.ts';
import { FAKE_VOCAB_SIZE, FakeDecoder } from './fake-decoder.ts';

export interface EngineShape {
  numRows: number;
  capacity: number;
  maxNumBatchedTokens: number;
  /** Rows beyond the sequences that may run, for finished texts. */
  spareRows?: number;
  /** Positions that are given memory together; 16 if left out. */
  blockSize?: number;
  maxBlocks?: number;
  prefixCaching?: boolean;
  targetItlMs?: number;
  drafts?: DraftSource;
  /** Speculates wherever it can if left out. */
  minGain?: number;
}

/** An engine over the fake decoder that checks the invariants around every step. */
export class CheckedEngine {
  readonly kvCache: KvCache;
  readonly scheduler: Scheduler;
  readonly decoder: FakeDecoder;
  readonly engine: Engine;
  readonly outputs = new Map<number, TokenOutput[]>();
  numJoinedRuns = 0;
  numCopies = 0;
  numDiscards = 0;
  numVerifyRuns = 0;
  readonly #shape: EngineShape;
  #admitted: number[] = [];

  constructor(shape: EngineShape) {
    this.#shape = shape;
    const { numRows: maxNumSeqs, capacity, maxNumBatchedTokens, spareRows = 0 } = shape;
    const { blockSize = 16 } = shape;
    const numRows = maxNumSeqs + spareRows;
    this.kvCache = new KvCache({
      numRows,
      capacity,
      blockSize,
      maxBlocks: shape.maxBlocks ?? numRows * Math.ceil(capacity / blockSize),
      prefixCaching: shape.prefixCaching ?? false,
    });
    const costs = new CostModel();
    this.scheduler = new Scheduler(this.kvCache, costs, {
      maxNumSeqs,
      maxNumBatchedTokens,
      targetItlMs: shape.targetItlMs ?? null,
      batching: 'continuous',
    });
    const fake = new FakeDecoder(numRows, capacity);
    this.decoder = fake;
    this.engine = new Engine({
      scheduler: this.scheduler,
      kvCache: this.kvCache,
      sampler: new Sampler(FAKE_VOCAB_SIZE),
      costs,
      speculator: shape.drafts
        ? new Speculator({
            source: shape.drafts,
            kvCache: this.kvCache,
            costs,
            maxTokens: 6,
            maxNumBatchedTokens,
            minGain: shape.minGain ?? 0,
          })
        : null,
      decoder: {
        rearrange: (operations) => fake.rearrange(operations),
        execute: (plan) => {
          this.#checkPlan(plan);
          return fake.execute(plan);
        },
        release: () => {},
      },
    });
  }

  step(): void {
    const waitingBefore = this.scheduler.waiting.map(({ id }) => id);
    const outputs = this.engine.step();
    const waitingAfter = new Set(this.scheduler.waiting.map(({ id }) => id));
    this.#admitted = waitingBefore.filter((id) => !waitingAfter.has(id));
    // First come, first served: who got a row was at the head of the line, unless memory is short.
    const isShort = this.#shape.maxBlocks !== undefined;
    if (!isShort) expect(this.#admitted).toEqual(waitingBefore.slice(0, this.#admitted.length));
    for (const { timesOvertaken } of this.scheduler.waiting) {
      expect(timesOvertaken).toBeLessThan(32 + this.#shape.numRows);
    }
    for (const output of outputs) {
      const soFar = this.outputs.get(output.id) ?? [];
      // Nothing after the end.
      expect(soFar.at(-1)?.finishReason ?? null).toBeNull();
      this.outputs.set(output.id, [...soFar, output]);
    }
    this.#checkState();
    // All that was committed was computed, but for the last token.
    const sampled = new Set(outputs.map(({ id }) => id));
    for (const { id, numUncomputedTokens } of this.scheduler.running) {
      if (sampled.has(id)) expect(numUncomputedTokens).toBe(1);
    }
  }

  #checkPlan({ cacheOperations, decode, prefill: runs, verify = [], ...plan }: StepPlan): void {
    const { numBatchedTokens } = plan;
    // Memory that was promised away is given back before anything runs.
    expect(this.kvCache.takeOperations()).toEqual([]);
    this.numVerifyRuns += verify.length;
    this.numJoinedRuns += runs.filter((run) => run.length > 1).length;
    this.numCopies += cacheOperations.filter(({ type }) => type === 'copy').length;
    this.numDiscards += cacheOperations.filter(({ type }) => type === 'discard').length;
    const prefill = runs.flat();
    const decoding = decode.flatMap(({ sequence }) => (sequence ? [sequence] : []));
    const verified = verify.map(({ sequence }) => sequence);
    const live = [...decoding, ...prefill.map(({ sequence }) => sequence), ...verified];
    expect(new Set(live).size).toBe(live.length);
    expect(live.length).toBeGreaterThan(0);
    const prefillTokens = prefill.reduce((sum, { length }) => sum + length, 0);
    const verifyTokens = verify.reduce(
      (sum, { draftTokenIds }) => sum + 1 + draftTokenIds.length,
      0,
    );
    expect(decoding.length + prefillTokens + verifyTokens).toBe(numBatchedTokens);
    expect(numBatchedTokens).toBeLessThanOrEqual(this.#shape.maxNumBatchedTokens);
    // Decode first: whoever has one token to compute is in the batch.
    for (const sequence of this.scheduler.running) {
      if (sequence.numUncomputedTokens === 1)
        expect([...decoding, ...verified]).toContain(sequence);
    }
    expect(decode.at(-1)?.sequence ?? null).toBe(decode.length > 0 ? decoding.at(-1) : null);
    for (const { position } of decode) expect(position).toBeLessThan(this.#shape.capacity);
    for (const { sequence, draftTokenIds } of verify) {
      expect(sequence.numUncomputedTokens).toBe(1);
      expect(draftTokenIds.length).toBeGreaterThan(0);
      const numLeft = sequence.request.maxTokens - sequence.numOutputTokens;
      expect(draftTokenIds.length).toBeLessThan(numLeft);
    }
    for (const { start, sequence, length } of prefill) {
      expect(start).toBe(sequence.numComputedTokens);
      expect(length).toBeGreaterThan(0);
    }
  }

  #checkState(): void {
    const owners = Array.from({ length: this.kvCache.numRows }, (_, row) =>
      this.kvCache.ownerOf(row),
    );
    const owned = owners.filter((owner): owner is Sequence => owner !== null);
    expect(new Set(owned)).toEqual(new Set(this.scheduler.running));
    const { numRows, maxBlocks, numResidentBlocks, numCachedRows } = this.kvCache;
    expect(owned.length + numCachedRows).toBeLessThanOrEqual(numRows);
    expect(owned.length).toBeLessThanOrEqual(this.#shape.numRows);
    expect(numResidentBlocks).toBeLessThanOrEqual(maxBlocks);
    // Dead rows write a token each to where nothing is kept.
    const touchedBlocks = this.decoder.touchedBlocks(this.#shape.blockSize ?? 16);
    expect(touchedBlocks).toBeLessThanOrEqual(numResidentBlocks + this.#shape.numRows);
    for (const row of owners.keys()) {
      const text = this.kvCache.cachedTokenIds(row);
      if (text) expect(this.decoder.rows[row]?.slice(0, text.length)).toEqual([...text]);
    }
    for (const [row, owner] of owners.entries()) {
      if (!owner) continue;
      expect(owner.row).toBe(row);
      const cached = this.decoder.rows[row]?.slice(0, owner.numComputedTokens);
      expect(cached).toEqual([...owner.tokenIds(0, owner.numComputedTokens)]);
      expect(owner.numUncomputedTokens).toBeGreaterThan(0);
    }
    for (const { row, numComputedTokens } of this.scheduler.waiting) {
      expect({ row, numComputedTokens }).toEqual({ row: -1, numComputedTokens: 0 });
    }
  }
}
