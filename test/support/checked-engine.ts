// Not vitest's expect: with a million checks, most of the time would be its own.
import assert from 'node:assert/strict';
import { Engine } from '../../src/engine/engine.ts';
import type { TokenOutput } from '../../src/engine/request.ts';
import { Sampler } from '../../src/engine/sampling/sampler.ts';
import { ThoughtBudgets } from '../../src/engine/sampling/thought-budget.ts';
import { Scheduler } from '../../src/engine/scheduling/scheduler.ts';
import type { DraftSource } from '../../src/engine/speculation/draft-source.ts';
import { Speculator } from '../../src/engine/speculation/speculator.ts';
import { StatefulDecoder } from '../../src/engine/states/stateful-decoder.ts';
import type { StepPlan } from '../../src/engine/step.ts';
import type { CheckedMemory } from './checked-memory.ts';
import { CheckedSlots, type SlotsShape } from './checked-slots.ts';
import { FAKE_VOCAB_SIZE } from './fake-decoder.ts';

export interface EngineShape {
  /** Sequences that run at once. */
  readonly maxNumSeqs: number;
  /** Positions per sequence. */
  readonly capacity: number;
  readonly maxNumBatchedTokens: number;
  readonly targetItlMs?: number;
  readonly drafts?: DraftSource;
  /** Speculates wherever it can if left out. */
  readonly minGain?: number;
  /** Texts of tokens, for requests whose thoughts have a budget. */
  readonly tokenTexts?: readonly string[];
  /** Memory may not do for all, so that some are overtaken. */
  readonly isShort?: boolean;
}

/** An engine over a fake model that checks the invariants around every step. */
export class CheckedEngine<Memory extends CheckedMemory = CheckedMemory> {
  readonly memory: Memory;
  readonly scheduler: Scheduler;
  readonly engine: Engine;
  readonly outputs = new Map<number, TokenOutput[]>();
  numCopies = 0;
  numDiscards = 0;
  numDrafts = 0;
  readonly #shape: EngineShape;

  constructor(shape: EngineShape, memory: Memory) {
    this.#shape = shape;
    this.memory = memory;
    const { kvCache, costs, states } = memory;
    const decoder = states ? new StatefulDecoder(memory.decoder, states) : memory.decoder;
    const { maxNumSeqs, maxNumBatchedTokens } = shape;
    const speculator = shape.drafts
      ? new Speculator({
          source: shape.drafts,
          kvCache,
          costs,
          states: states ?? null,
          maxTokens: 6,
          maxNumBatchedTokens,
          minGain: shape.minGain ?? 0,
        })
      : null;
    const targetItlMs = shape.targetItlMs ?? null;
    const options = {
      maxNumSeqs,
      maxNumBatchedTokens,
      targetItlMs,
    } as const;
    this.scheduler = new Scheduler(kvCache, costs, options, speculator);
    this.engine = new Engine({
      scheduler: this.scheduler,
      kvCache,
      sampler: new Sampler(
        FAKE_VOCAB_SIZE,
        null,
        shape.tokenTexts ? new ThoughtBudgets(shape.tokenTexts) : null,
      ),
      costs,
      speculator,
      decoder: {
        execute: (plan) => {
          this.#checkPlan(plan);
          return decoder.execute(plan);
        },
        release: () => {},
      },
    });
  }

  /** With the KV cache in slots. */
  static withSlots(shape: SlotsShape & EngineShape): CheckedEngine<CheckedSlots> {
    // Others that are as large as they get have no use for the pages that they are left to grow.
    const isShort = shape.maxPages !== undefined || shape.windows !== undefined;
    return new CheckedEngine({ ...shape, isShort }, new CheckedSlots(shape));
  }

  step(): void {
    const waitingBefore = this.scheduler.waiting.map(({ id }) => id);
    const outputs = this.engine.step();
    const waitingAfter = new Set(this.scheduler.waiting.map(({ id }) => id));
    const admitted = waitingBefore.filter((id) => !waitingAfter.has(id));
    // First come, first served: who got a slot was at the head of the line, unless memory is short.
    if (this.#shape.isShort !== true) {
      assert.deepEqual(admitted, waitingBefore.slice(0, admitted.length));
    }
    for (const { timesOvertaken } of this.scheduler.waiting) {
      assert.ok(timesOvertaken < 32 + this.#shape.maxNumSeqs, `overtaken ${timesOvertaken} times`);
    }
    for (const output of outputs) {
      const soFar = this.outputs.get(output.id) ?? [];
      // Nothing after the end.
      assert.equal(soFar.at(-1)?.finishReason ?? null, null);
      this.outputs.set(output.id, [...soFar, output]);
    }
    this.#checkState();
    // All that was committed was computed, but for the last token.
    const sampled = new Set(outputs.map(({ id }) => id));
    for (const { id, numUncomputedTokens } of this.scheduler.running) {
      if (sampled.has(id)) assert.equal(numUncomputedTokens, 1);
    }
  }

  runToEnd(): void {
    // Nothing starves: every step computes something, so this bound is generous.
    for (let steps = 0; this.engine.hasWork; steps++) {
      assert.ok(steps < 5000, 'it goes on for ever');
      this.step();
    }
  }

  /** The tokens that a request got so far. */
  tokensOf(id: number): number[] {
    const outputs = this.outputs.get(id) ?? [];
    return outputs.filter(({ tokenId }) => tokenId >= 0).map(({ tokenId }) => tokenId);
  }

  #checkPlan({ cacheOperations, segments }: StepPlan): void {
    // Memory that was promised away is given back before anything runs.
    assert.deepEqual(this.memory.kvCache.drainOperations(), []);
    this.numCopies += cacheOperations.filter(({ type }) => type === 'copy').length;
    this.numDiscards += cacheOperations.filter(({ type }) => type === 'discard').length;
    const sequences = segments.map(({ sequence }) => sequence);
    assert.equal(new Set(sequences).size, sequences.length);
    assert.notEqual(segments.length, 0);
    const numBatched = segments.reduce((sum, { numTokens }) => sum + numTokens, 0);
    assert.ok(numBatched <= this.#shape.maxNumBatchedTokens, `${numBatched} tokens in a step`);
    // Decode first: whoever has one token to compute is in the batch, unless a better tier has a target.
    const { running } = this.scheduler;
    for (const sequence of running) {
      if (sequence.numUncomputedTokens !== 1 || sequences.includes(sequence)) continue;
      const better = running.filter(({ request }) => request.tier < sequence.request.tier);
      assert.ok(better.some(({ request }) => Number.isFinite(request.targetItlMs)));
    }
    for (const { sequence, start, numTokens, numLogits, draftTokenIds } of segments) {
      const end = start + numTokens;
      assert.equal(start, sequence.numComputedTokens);
      assert.ok(numTokens > 0, `${numTokens} tokens of a sequence`);
      assert.ok(end <= this.#shape.capacity, `a sequence up to position ${end}`);
      const isLast = end - draftTokenIds.length === sequence.numTokens;
      assert.equal(numLogits, isLast || sequence.scoresPrompt ? 1 + draftTokenIds.length : 0);
      if (draftTokenIds.length === 0) continue;
      this.numDrafts += 1;
      assert.equal(sequence.numUncomputedTokens, 1);
      const numLeft = sequence.request.maxTokens - sequence.numOutputTokens;
      assert.ok(draftTokenIds.length < numLeft, `a draft for the last ${numLeft} tokens`);
    }
  }

  #checkState(): void {
    const { running, waiting } = this.scheduler;
    assert.ok(running.length <= this.#shape.maxNumSeqs, `${running.length} run`);
    for (const { numUncomputedTokens } of running) assert.ok(numUncomputedTokens > 0);
    for (const { slot, numComputedTokens, pageTable } of waiting) {
      const held = { slot, numComputedTokens, pageTable };
      assert.deepEqual(held, { slot: -1, numComputedTokens: 0, pageTable: [] });
    }
    this.memory.check(running);
  }
}
