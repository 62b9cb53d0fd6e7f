/** All models leave memory together, and the same ones come back together. */
import { ModelUnavailableError } from './errors.ts';
import type { Runtime } from './loaded-model.ts';
import type { ModelEntry } from './model-entry.ts';
import { requireLoaded } from './require-loadable.ts';

export interface SleepOptions<R extends Runtime> {
  readonly entries: () => Iterable<ModelEntry<R>>;
  /** @returns once it is out of memory */
  readonly unload: (entry: ModelEntry<R>) => Promise<void>;
  /** @returns once it is loaded, or has failed */
  readonly load: (entry: ModelEntry<R>) => Promise<void>;
}

export class Sleep<R extends Runtime> {
  readonly #options: SleepOptions<R>;
  /** Models to come back; null while it is awake. */
  #sleepers: readonly ModelEntry<R>[] | null = null;
  #isOut: Promise<unknown> = Promise.resolve();

  constructor(options: SleepOptions<R>) {
    this.#options = options;
  }

  get isAsleep(): boolean {
    return this.#sleepers !== null;
  }

  /** @throws ModelUnavailableError while it sleeps */
  requireAwake(): void {
    if (!this.isAsleep) return;
    const message = 'The server sleeps, without its models; POST /wake_up wakes it.';
    throw new ModelUnavailableError(message, null, 'server_sleeping');
  }

  /**
   * Nothing new begins from now on.
   * @returns once all that runs has ended, and the memory is free
   */
  async begin(): Promise<void> {
    if (this.#sleepers === null) {
      const sleepers = [...this.#options.entries()].filter(
        ({ loaded, loading }) => loaded !== null || loading !== null,
      );
      this.#sleepers = sleepers;
      this.#isOut = Promise.all(sleepers.map((entry) => this.#putOut(entry, sleepers)));
    }
    await this.#isOut;
  }

  /**
   * Also while the last requests of before still run.
   * @throws ModelUnavailableError for a model that can't be loaded any more
   */
  async end(): Promise<void> {
    const entries = this.#sleepers ?? [];
    this.#sleepers = null;
    const there = new Set(this.#options.entries());
    const known = entries.filter((entry) => there.has(entry) && entry.loaded === null);
    await Promise.all(known.map((entry) => this.#options.load(entry)));
    for (const entry of known) requireLoaded(entry);
  }

  /** @param sleepers of the sleep that it belongs to, which may be over meanwhile */
  async #putOut(entry: ModelEntry<R>, sleepers: readonly ModelEntry<R>[]): Promise<void> {
    // A load can't be stopped, and may replace a model that is there.
    await entry.loading?.done;
    if (this.#sleepers === sleepers) await this.#options.unload(entry);
  }
}
