import type { Sequence } from '../sequence.ts';

/** A sequence gives up its slot for want of memory, or to one of a better service class. */
export type SentBackFor = 'memory' | 'class';

/** Sequence that had to give up its slot, and the slot. */
export interface SentBackSequence {
  readonly id: number;
  readonly slot: number;
  readonly for: SentBackFor;
}

/** Running sequences that had to give up their slots: how often, and which in the plan at hand. */
export class SentBack {
  readonly #counts: Record<SentBackFor, number> = { memory: 0, class: 0 };
  #inPlan: SentBackSequence[] = [];

  /** Since the last call of `beginPlan`. */
  get inPlan(): readonly SentBackSequence[] {
    return this.#inPlan;
  }

  get counters() {
    return { numPreemptions: this.#counts.memory, numYields: this.#counts.class };
  }

  beginPlan(): void {
    if (this.#inPlan.length > 0) this.#inPlan = [];
  }

  /** To be called while the sequence has its slot. */
  add({ id, slot }: Sequence, reason: SentBackFor): void {
    this.#counts[reason]++;
    this.#inPlan.push({ id, slot, for: reason });
  }
}
