/** LoRA adapters of a server, whether their models are in memory or not. */
import { MODEL_LIMITS } from '../../model-limits.ts';
import { InvalidRequestError } from '../invalid-request.ts';

export interface KnownAdapter {
  /** Name that requests use. */
  readonly name: string;
  /** A folder; of an operator's also a remote one. */
  readonly path: string;
  /** Name of its model. */
  readonly base: string;
  /** Whether the command line has it, and no request brought it. */
  readonly isOfFlags: boolean;
}

/** One name is one adapter, of whichever model. */
export class AdapterShelf {
  readonly #adapters = new Map<string, KnownAdapter>();

  /** In the order in which they came. */
  list(): readonly KnownAdapter[] {
    return [...this.#adapters.values()];
  }

  /** Those of one model. */
  of(base: string): readonly KnownAdapter[] {
    return this.list().filter((adapter) => adapter.base === base);
  }

  find(name: string): KnownAdapter | null {
    return this.#adapters.get(name) ?? null;
  }

  /** @throws InvalidRequestError for a name that is taken, or where there are too many */
  requireFree(name: string): void {
    if (this.#adapters.has(name)) {
      throw new InvalidRequestError(`there is a LoRA adapter "${name}" already`, 'lora_name');
    }
    if (this.#adapters.size < MODEL_LIMITS.adapters) return;
    throw new InvalidRequestError(`there are ${MODEL_LIMITS.adapters} LoRA adapters already`);
  }

  /** @throws as `requireFree` does */
  add(adapter: KnownAdapter): void {
    this.requireFree(adapter.name);
    this.#adapters.set(adapter.name, adapter);
  }

  /** Requests that run with it go on. @returns whether it was there */
  remove(name: string): boolean {
    return this.#adapters.delete(name);
  }
}
