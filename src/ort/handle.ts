import type { Pointer } from './api.ts';

/**
 * Owns one native object: explicit release, no finalizer. A collected wrapper must not take down an
 * object that native code still uses, so whoever creates a handle releases it.
 */
export abstract class Handle {
  #pointer: Pointer | null;

  protected constructor(pointer: Pointer) {
    this.#pointer = pointer;
  }

  /** @throws Error once released: a stale native address would crash the process instead */
  get pointer(): Pointer {
    if (this.#pointer === null) throw new Error(`${this.constructor.name} used after its release`);
    return this.#pointer;
  }

  get released(): boolean {
    return this.#pointer === null;
  }

  /** Frees the native object. Calling it again does nothing. */
  release(): void {
    if (this.#pointer === null) return;
    const pointer = this.#pointer;
    this.#pointer = null;
    this.free(pointer);
  }

  protected abstract free(pointer: Pointer): void;
}
