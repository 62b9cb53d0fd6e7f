import type { EngineAdapter } from '../../engine/request.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { InvalidRequestError } from '../invalid-request.ts';

/** An adapter that requests pick by its name, as if it were a model. */
export interface ServedAdapter {
  readonly name: string;
  /** Where it came from: a folder. */
  readonly path: string;
  readonly engine: EngineAdapter;
}

/** Makes an adapter ready for the engine. @throws ModelError when the model can't have it */
export type PrepareAdapter = (path: string) => Promise<Omit<EngineAdapter, 'scale'>>;

/** The adapters of one model. They may come and go while it serves. */
export class ServedAdapters {
  readonly #prepare: PrepareAdapter;
  readonly #adapters = new Map<string, ServedAdapter>();

  constructor(prepare: PrepareAdapter) {
    this.#prepare = prepare;
  }

  /** In the order in which they came. */
  list(): readonly ServedAdapter[] {
    return [...this.#adapters.values()];
  }

  find(name: string): ServedAdapter | null {
    return this.#adapters.get(name) ?? null;
  }

  /**
   * Has an adapter from now on.
   * @throws InvalidRequestError for a name that is taken; ModelError when the model can't have it
   */
  async load(name: string, path: string): Promise<void> {
    this.#requireFree(name);
    const file = await this.#prepare(path);
    this.#requireFree(name);
    this.#adapters.set(name, { name, path, engine: { ...file, scale: 1 } });
  }

  /** Requests that run with it go on. @returns whether it was there */
  unload(name: string): boolean {
    return this.#adapters.delete(name);
  }

  #requireFree(name: string): void {
    if (this.#adapters.size >= MODEL_LIMITS.adapters) {
      throw new InvalidRequestError(`there are ${MODEL_LIMITS.adapters} LoRA adapters already`);
    }
    if (!this.#adapters.has(name)) return;
    throw new InvalidRequestError(`there is a LoRA adapter "${name}" already`, 'lora_name');
  }
}
