import type { EngineStats } from '../../engine/stats.ts';
import { guarded } from '../../guarded.ts';

/** Listeners that want to hear of each step. */
export class StepListeners {
  readonly #all = new Set<(stats: EngineStats) => void>();

  /** @returns takes it off again */
  add(listener: (stats: EngineStats) => void): () => void {
    // An error of the listener concerns no request, and no message of the engine.
    const tell = guarded(listener, throwLater);
    this.#all.add(tell);
    return () => this.#all.delete(tell);
  }

  tell(stats: EngineStats): void {
    for (const tell of this.#all) tell(stats);
  }
}

function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
