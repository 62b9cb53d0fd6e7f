/** A model in memory, and who uses it. */
import { once } from '../../once.ts';

export interface Runtime {
  /** Bytes that it takes: weights and the budget of its KV cache. */
  readonly memoryBytes: number;
  /** Frees everything. Requests under way fail. */
  stop(): Promise<void>;
}

/** It is stopped once it is asked to and nobody uses it any more. */
export class LoadedModel<R extends Runtime> {
  readonly runtime: R;
  readonly #onIdle: () => void;
  #numUses = 0;
  #idleSince: number;
  #draining: Promise<void> | null = null;
  #drained: (() => void) | null = null;

  /** @param onIdle called whenever the last use ends */
  constructor(runtime: R, onIdle: () => void) {
    this.runtime = runtime;
    this.#onIdle = onIdle;
    this.#idleSince = performance.now();
  }

  /** Leases and pins that have not ended. */
  get numUses(): number {
    return this.#numUses;
  }

  get isIdle(): boolean {
    return this.#numUses === 0;
  }

  get isDraining(): boolean {
    return this.#draining !== null;
  }

  /** When the last use ended, on `performance.now`'s clock; now while it is in use. */
  get idleSince(): number {
    return this.isIdle ? this.#idleSince : performance.now();
  }

  /** Keeps the model until the function that it returns is called, once or more. */
  pin(): () => void {
    this.#numUses++;
    return once(() => {
      this.#numUses--;
      if (!this.isIdle) return;
      this.#idleSince = performance.now();
      this.#drained?.();
      this.#onIdle();
    });
  }

  /** Stops the model when its uses have ended; new ones must not begin. */
  drain(): Promise<void> {
    this.#draining ??= this.#stopWhenIdle();
    return this.#draining;
  }

  async #stopWhenIdle(): Promise<void> {
    if (!this.isIdle) await new Promise<void>((resolve) => (this.#drained = resolve));
    await this.runtime.stop();
  }
}
