import { expect } from 'vitest';
import { Engine } from '../../src/engine/engine.ts';
import { KvCache } from '../../src/engine/kv-cache.ts';
import type { TokenOutput } from '../../src/engine/messages.ts';
import { Sampler } from '../../src/engine/sampler.ts';
import { Scheduler } from '../../src/engine/scheduler.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import type { StepPlan } from '../../src/engine/step-plan.ts';
import { FAKE_VOCAB_SIZE, FakeDecoder } from './fake-decoder.ts';

export interface EngineShape {
  numRows: number;
  capacity: number;
  maxNumBatchedTokens: number;
}

/** An engine over the fake decoder that checks the invariants around every step. */
export class CheckedEngine {
  readonly kvCache: KvCache;
  readonly scheduler: Scheduler;
  readonly decoder: FakeDecoder;
  readonly engine: Engine;
  readonly outputs = new Map<number, TokenOutput[]>();
  readonly #shape: EngineShape;
  #admitted: number[] = [];

  constructor(shape: EngineShape) {
    this.#shape = shape;
    this.kvCache = new KvCache(shape.numRows, shape.capacity);
    this.scheduler = new Scheduler(this.kvCache, shape.maxNumBatchedTokens);
    const fake = new FakeDecoder(shape.numRows, shape.capacity);
    this.decoder = fake;
    this.engine = new Engine({
      scheduler: this.scheduler,
      kvCache: this.kvCache,
      sampler: new Sampler(FAKE_VOCAB_SIZE),
      decoder: {
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
    // First come, first served: who got a row was at the head of the line.
    expect(this.#admitted).toEqual(waitingBefore.slice(0, this.#admitted.length));
    for (const output of outputs) {
      const soFar = this.outputs.get(output.id) ?? [];
      // Nothing after the end.
      expect(soFar.at(-1)?.finishReason ?? null).toBeNull();
      this.outputs.set(output.id, [...soFar, output]);
    }
    this.#checkState();
  }

  #checkPlan({ decode, prefill, moves, numBatchedTokens }: StepPlan): void {
    const decoding = decode.flatMap(({ sequence }) => (sequence ? [sequence] : []));
    const live = [...decoding, ...prefill.map(({ sequence }) => sequence)];
    expect(new Set(live).size).toBe(live.length);
    expect(live.length).toBeGreaterThan(0);
    const prefillTokens = prefill.reduce((sum, { length }) => sum + length, 0);
    expect(decoding.length + prefillTokens).toBe(numBatchedTokens);
    expect(numBatchedTokens).toBeLessThanOrEqual(this.#shape.maxNumBatchedTokens);
    // Decode first: whoever has one token to compute is in the batch.
    for (const sequence of this.scheduler.running) {
      if (sequence.numUncomputedTokens === 1) expect(decoding).toContain(sequence);
    }
    expect(decode.at(-1)?.sequence ?? null).toBe(decode.length > 0 ? decoding.at(-1) : null);
    for (const { position } of decode) expect(position).toBeLessThan(this.#shape.capacity);
    for (const { start, sequence, length } of prefill) {
      expect(start).toBe(sequence.numComputedTokens);
      expect(length).toBeGreaterThan(0);
    }
    for (const { from, to } of moves) expect(to).toBeLessThan(from);
  }

  #checkState(): void {
    const owners = Array.from({ length: this.kvCache.numRows }, (_, row) =>
      this.kvCache.ownerOf(row),
    );
    const owned = owners.filter((owner): owner is Sequence => owner !== null);
    expect(new Set(owned)).toEqual(new Set(this.scheduler.running));
    expect(owned.length + this.kvCache.numFreeRows).toBe(this.kvCache.numRows);
    for (const [row, owner] of owners.entries()) {
      if (!owner) continue;
      expect(owner.row).toBe(row);
      const cached = this.decoder.rows[row]?.slice(0, owner.numComputedTokens);
      expect(cached).toEqual([...owner.tokenIds(0, owner.numComputedTokens)]);
      expect(owner.numUncomputedTokens).toBeGreaterThan(0);
    }
    for (const sequence of this.scheduler.waiting) expect(sequence.row).toBe(-1);
  }
}
