import type { Session } from '../../ort/session.ts';
import { RunBinding, type RunMemory } from './run-binding.ts';

/** Bindings to slots, made at first use and kept for good: a step of a shape seen before binds nothing. */
export class RunBindings {
  readonly #memory: RunMemory;
  readonly #bySession = new Map<Session, Map<string, RunBinding>>();

  constructor(memory: RunMemory) {
    this.#memory = memory;
  }

  /** For runs over a range of slots. */
  ofSlots(session: Session, firstSlot: number, numSlots: number): RunBinding {
    // Padded runs and halves of failed ones are seldom the same twice: they share a binding.
    const isSeldom = firstSlot > 0 && numSlots > 1;
    const key = isSeldom ? 'several' : `${firstSlot}+${numSlots}`;
    return this.#boundTo(session, key, firstSlot, numSlots);
  }

  /** For runs of `numTokens` of one slot, so that steps whose length changes bind nothing anew. */
  ofTokens(session: Session, slot: number, numTokens: number): RunBinding {
    return this.#boundTo(session, `${slot}x${numTokens}`, slot, 1);
  }

  #boundTo(session: Session, key: string, firstSlot: number, numSlots: number): RunBinding {
    let bindings = this.#bySession.get(session);
    if (!bindings) this.#bySession.set(session, (bindings = new Map<string, RunBinding>()));
    let binding = bindings.get(key);
    if (!binding) {
      binding = new RunBinding(session, this.#memory);
      bindings.set(key, binding);
    }
    binding.group().bindSlots(firstSlot, numSlots);
    return binding;
  }

  release(): void {
    for (const bindings of this.#bySession.values()) {
      for (const binding of bindings.values()) binding.release();
    }
    this.#bySession.clear();
  }
}
