import type { SlotCache } from '../kv-cache/slot-cache.ts';
import type { EngineRequest } from '../request.ts';
import { Sequence } from '../sequence.ts';
import type { Decoder, StepPlan, StepResult } from '../step.ts';
import type { KvJournal } from './kv-journal.ts';

/**
 * A decoder whose KV cache outlives the process: a journal says which slot holds what while it runs,
 * and the next process takes the slots up from there.
 */
export class JournaledDecoder implements Decoder {
  readonly #decoder: Decoder;
  readonly #journal: KvJournal;
  readonly #kvCache: SlotCache;

  constructor(decoder: Decoder, journal: KvJournal, kvCache: SlotCache) {
    this.#decoder = decoder;
    this.#journal = journal;
    this.#kvCache = kvCache;
  }

  execute({ cacheOperations, segments }: StepPlan): StepResult {
    // While it is moved, it has no owner.
    this.#journal.invalidate(cacheOperations);
    this.#decoder.execute({ cacheOperations, segments: [] });
    const slots = Array.from({ length: this.#kvCache.numSlots }, (_, slot) => slot);
    this.#journal.record(slots.map((slot) => this.#kvCache.ownerOf(slot)));
    const result = this.#decoder.execute({ cacheOperations: [], segments });
    const failed = new Set(result.failures.map(({ sequence }) => sequence));
    for (const { sequence, start, numTokens, draftTokenIds } of segments) {
      if (failed.has(sequence)) continue;
      // Whether a draft comes true is decided later.
      this.#journal.advance(sequence, start + numTokens - draftTokenIds.length);
    }
    return result;
  }

  /**
   * Takes up slots of an earlier process. Has to come before any other request.
   * @returns the sequences that go on in their slots, and the requests that have none
   */
  adopt(requests: readonly EngineRequest[]): {
    readonly sequences: readonly Sequence[];
    readonly others: readonly EngineRequest[];
  } {
    const slots = this.#journal.read();
    const sequences: Sequence[] = [];
    const others: EngineRequest[] = [];
    for (const request of requests) {
      const held = slots.get(request.id);
      // A grammar's or a scored prompt's progress is not in the cache, nor what is read after a prompt.
      const { grammar, promptLogprobs, readout } = request;
      if (!held || grammar !== null || promptLogprobs !== null || readout) {
        others.push(request);
        continue;
      }
      const sequence = new Sequence(request);
      this.#kvCache.adopt(sequence, held.slot, held.length);
      sequences.push(sequence);
    }
    this.#kvCache.discardIdle();
    return { sequences, others };
  }

  release(): void {
    this.#decoder.release();
  }
}
