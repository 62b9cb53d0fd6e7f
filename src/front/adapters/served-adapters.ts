import type { EngineAdapter } from '../../engine/request.ts';
import { reasonOf } from '../../files/system-error.ts';
import type { AdapterShelf, KnownAdapter } from './adapter-shelf.ts';

/** An adapter that requests pick by its name, as if it were a model. */
export interface ServedAdapter {
  readonly name: string;
  /** Where it came from: a folder. */
  readonly path: string;
  readonly engine: EngineAdapter;
}

/** Makes an adapter ready for the engine. @throws ModelError when the model can't have it */
export type PrepareAdapter = (
  adapter: Pick<KnownAdapter, 'path' | 'isOfFlags'>,
) => Promise<Omit<EngineAdapter, 'scale'>>;

export interface ServedAdaptersOptions {
  /** Adapters of all models, which outlive this one's time in memory. */
  readonly shelf: AdapterShelf;
  /** Name of the model. */
  readonly base: string;
  readonly prepare: PrepareAdapter;
}

/** The adapters of one model while it is loaded. They may come and go while it serves. */
export class ServedAdapters {
  readonly #options: ServedAdaptersOptions;
  readonly #ready = new Map<KnownAdapter, ServedAdapter>();

  constructor(options: ServedAdaptersOptions) {
    this.#options = options;
  }

  /** In the order in which they came. */
  list(): readonly ServedAdapter[] {
    const { shelf, base } = this.#options;
    return shelf.of(base).flatMap((known) => this.#ready.get(known) ?? []);
  }

  find(name: string): ServedAdapter | null {
    const known = this.#options.shelf.find(name);
    return known && (this.#ready.get(known) ?? null);
  }

  /**
   * Has an adapter from now on.
   * @throws InvalidRequestError for a name that is taken; ModelError when the model can't have it
   */
  async load(name: string, path: string): Promise<void> {
    const { shelf, base } = this.#options;
    const known = { name, path, base, isOfFlags: false };
    shelf.requireFree(name);
    const served = await this.#prepare(known);
    shelf.add(known);
    this.#ready.set(known, served);
  }

  /**
   * Makes ready what the shelf has for the model and is not ready yet, after the model was out of memory.
   * @param onProblem told what is wrong with one that a request had brought: the model serves without it
   * @throws ModelError for one of the command line
   */
  async restore(onProblem: (name: string, reason: string) => void): Promise<void> {
    const { shelf, base } = this.#options;
    for (const known of shelf.of(base)) {
      if (this.#ready.has(known)) continue;
      try {
        this.#ready.set(known, await this.#prepare(known));
      } catch (error) {
        if (known.isOfFlags) throw error;
        onProblem(known.name, reasonOf(error));
      }
    }
  }

  async #prepare(known: KnownAdapter): Promise<ServedAdapter> {
    const { name, path } = known;
    return { name, path, engine: { ...(await this.#options.prepare(known)), scale: 1 } };
  }
}
