/** Which models there are, which of them are loaded, and who uses them. */
import type { Caller } from '../caller.ts';
import { QueueFullError } from '../queue/admission.ts';
import type { Aliases } from './aliases.ts';
import { ModelControlError, ModelUnavailableError } from './errors.ts';
import type { Lease } from './lease.ts';
import type { Runtime } from './loaded-model.ts';
import { ModelCatalog } from './model-catalog.ts';
import type { ModelControl } from './model-control.ts';
import { keyOf, type ModelDefinition } from './model-definition.ts';
import {
  infoOf,
  type ModelEntry,
  type ModelInfo,
  type ModelLoad,
  newEntry,
} from './model-entry.ts';
import { type RegistryEvent, Residency, type ResidencyOptions } from './residency.ts';
import { requireLoadable, requireLoaded } from './require-loadable.ts';
import { Sleep } from './sleep.ts';
import { untilAborted } from '../until-aborted.ts';

export interface RegistryOptions<R extends Runtime> extends ResidencyOptions<R> {
  readonly control: ModelControl;
  /** Requests that may wait for one model to be loaded. */
  readonly maxWaiting: number;
}

export class ModelRegistry<R extends Runtime> {
  readonly control: ModelControl;
  readonly #residency: Residency<R>;
  readonly #maxWaiting: number;
  readonly #catalog = new ModelCatalog<R>();
  /** Frees the memory of all models for a while. */
  readonly sleep: Pick<Sleep<R>, 'isAsleep' | 'requireAwake' | 'begin' | 'end'> = new Sleep<R>({
    entries: () => this.#catalog.entries.values(),
    unload: (entry) => this.#residency.unload(entry),
    load: (entry) => this.#waitFor(this.#residency.load(entry)),
  });
  readonly #listeners = new Set<(event: RegistryEvent) => void>();
  /** Definitions that came by `add`, by key. */
  readonly #added = new Map<string, ModelDefinition>();
  #isStarting = false;
  #isClosed = false;

  constructor({ control, maxWaiting, ...options }: RegistryOptions<R>) {
    this.control = control;
    this.#maxWaiting = maxWaiting;
    // Only what comes by itself may go by itself.
    const keepAliveMs = control === 'auto' ? options.keepAliveMs : null;
    const onEvent = (event: RegistryEvent): void => {
      options.onEvent?.(event);
      for (const listener of this.#listeners) listener(event);
    };
    this.#residency = new Residency({ ...options, keepAliveMs, onEvent });
  }

  /** Tells of what happens to models, until the function that it returns is called. */
  subscribe(listener: (event: RegistryEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** While the models are loaded that have to be there from the start. */
  get isStarting(): boolean {
    return this.#isStarting;
  }

  /** In order of name; newest version first. */
  list(): readonly ModelInfo[] {
    return this.#catalog.sorted().map(infoOf);
  }

  /** Runtime of a version that is loaded; otherwise null. */
  runtimeOf(version: Pick<ModelInfo, 'name' | 'version'>): R | null {
    return this.#catalog.entries.get(keyOf(version))?.loaded?.runtime ?? null;
  }

  /** Definition that a version is loaded from; null if it exists no longer. */
  definitionOf(version: Pick<ModelInfo, 'name' | 'version'>): ModelDefinition | null {
    return this.#catalog.entries.get(keyOf(version))?.definition ?? null;
  }

  /** Loaded models, in the same order, and how many requests use each. */
  loaded(): readonly (Pick<Lease<R>, 'definition' | 'runtime'> & { readonly numUses: number })[] {
    return this.#catalog
      .sorted()
      .flatMap(({ definition, loaded }) =>
        loaded ? [{ definition, runtime: loaded.runtime, numUses: loaded.numUses }] : [],
      );
  }

  /**
   * The model for a request, once it is loaded.
   * @param name null for the first that is loaded or being loaded, or else the first of all
   * @param user whose request it is, for aliases that stand for several models
   * @throws UnknownModelError, ModelUnavailableError, QueueFullError, the caller's reason to leave
   */
  async acquire(name: string | null, { signal }: Caller, user = ''): Promise<Lease<R>> {
    for (;;) {
      signal.throwIfAborted();
      this.sleep.requireAwake();
      const entry = this.#catalog.resolve(name, user);
      const lease = this.#lease(entry) ?? (await this.#leaseLoaded(entry, signal));
      if (lease !== null) return lease;
    }
  }

  /** Runs `action` with a model, which stays loaded until it is done. @throws as `acquire` does */
  async use<T>(
    name: string | null,
    caller: Caller,
    action: (lease: Lease<R>) => Promise<T>,
  ): Promise<T> {
    const lease = await this.acquire(name, caller);
    try {
      return await action(lease);
    } finally {
      lease.release();
    }
  }

  /** Model that a name stands for. @throws UnknownModelError */
  find(name: string | null): ModelInfo {
    return infoOf(this.#catalog.resolve(name, ''));
  }

  /** Further names of models, each with the one that it mostly stands for. */
  aliases(): ReadonlyMap<string, ModelInfo> {
    return new Map(this.#catalog.aliased().map(([name, entry]) => [name, infoOf(entry)]));
  }

  /** Milliseconds until a loaded model goes if nobody asks for it; Infinity is never. */
  idleMsLeft({ name, version }: Pick<ModelInfo, 'name' | 'version'>): number {
    const entry = this.#catalog.resolve(`${name}@${version}`, '');
    const idleMs = entry.loaded === null ? 0 : performance.now() - entry.loaded.idleSince;
    return Math.max(0, this.#residency.keepAliveMs(entry) - idleMs);
  }

  /** Has one more model, whatever `update` says. @throws ModelControlError */
  async add(definition: ModelDefinition): Promise<void> {
    this.requireControl();
    const key = keyOf(definition);
    this.#added.set(key, definition);
    await Promise.all(this.#adopt(key, definition).map((entry) => this.#reload(entry)));
  }

  /** Whether an operator may say what is loaded. @throws ModelControlError */
  requireControl(): void {
    if (this.control === 'explicit' || this.control === 'auto') return;
    throw new ModelControlError(
      `With --model-control ${this.control} models are not loaded or unloaded on request; explicit and auto allow it.`,
    );
  }

  /**
   * Loads a model because an operator wants it.
   * @throws UnknownModelError, ModelControlError, or ModelUnavailableError saying why it can't be loaded
   */
  async load(name: string): Promise<void> {
    this.requireControl();
    this.sleep.requireAwake();
    const entry = this.#catalog.resolve(name, '');
    if (entry.loaded !== null) return;
    await this.#waitFor(this.#residency.load(entry));
    requireLoaded(entry);
  }

  /**
   * Unloads a model, all its versions if none is named, once the requests that use it have ended.
   * @returns when it is out of memory
   * @throws UnknownModelError, ModelControlError
   */
  async unload(name: string): Promise<void> {
    this.requireControl();
    const version = this.#catalog.entries.get(name);
    const entries = version
      ? [version]
      : this.#catalog.versionsOf(this.#catalog.resolve(name, '').definition.name);
    await Promise.all(entries.map((entry) => this.#residency.unload(entry)));
  }

  /** How long a model stays after its last request. @param keepAliveMs Infinity is for ever */
  keepAlive(name: string, keepAliveMs: number): void {
    const entry = this.#catalog.resolve(name, '');
    entry.keepAliveMs = keepAliveMs;
    this.#residency.watchIdle(entry);
  }

  /**
   * Takes over what there is now. Of what is loaded, changed models are loaded anew, while the old
   * one serves. What is gone is unloaded when a newer version serves, or at once if there is none.
   */
  async update(definitions: readonly ModelDefinition[], aliases: Aliases): Promise<void> {
    this.#catalog.aliases = aliases;
    const wanted = new Map(this.#added);
    for (const definition of definitions) wanted.set(keyOf(definition), definition);
    const gone = [...this.#catalog.entries.values()].filter(
      ({ definition }) => !wanted.has(keyOf(definition)),
    );
    const outdated = [...wanted].flatMap(([key, definition]) => this.#adopt(key, definition));
    await Promise.all(outdated.map((entry) => this.#reload(entry)));
    await Promise.all(gone.map((entry) => this.#retire(entry)));
  }

  /** Loads what has to be there from the start. What fails says why in `list`. */
  async preload(): Promise<void> {
    this.#isStarting = true;
    const isAll = this.control === 'none' || this.control === 'poll';
    const entries = this.#catalog.sorted().filter(({ definition }) => isAll || definition.preload);
    await Promise.all(entries.map((entry) => this.#waitFor(this.#residency.load(entry))));
    this.#isStarting = false;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#residency.close();
  }

  #lease(entry: ModelEntry<R>): Lease<R> | null {
    const { loaded, definition } = entry;
    if (loaded === null) return null;
    this.#residency.use(entry);
    const pin = () => loaded.pin();
    return { definition, runtime: loaded.runtime, release: pin(), pin };
  }

  /** Null when the load was given up. */
  async #leaseLoaded(entry: ModelEntry<R>, signal: AbortSignal): Promise<Lease<R> | null> {
    if (this.#isClosed) throw new ModelUnavailableError('The server is shutting down.');
    requireLoadable(entry, this.control);
    const load = this.#residency.load(entry);
    if (load.numWaiting >= this.#maxWaiting) throw new QueueFullError('requests', 5);
    return this.#waitFor(load, signal, () => {
      requireLoaded(entry);
      // Before it counts as idle, so that it can't be evicted in between.
      return this.#lease(entry);
    });
  }

  /** Waits for a load, then calls `then` while the model can't be evicted yet. */
  async #waitFor<T>(load: ModelLoad, signal: AbortSignal, then: () => T): Promise<T>;
  async #waitFor(load: ModelLoad): Promise<void>;
  async #waitFor(load: ModelLoad, signal?: AbortSignal, then?: () => unknown): Promise<unknown> {
    load.numWaiting++;
    try {
      await (signal ? untilAborted(load.done, signal) : load.done);
      return then?.();
    } finally {
      load.numWaiting--;
      this.#residency.left(load);
    }
  }

  /** @returns the entry of what has to be loaded, so that requests get the newest */
  #adopt(key: string, definition: ModelDefinition): readonly ModelEntry<R>[] {
    const entry = this.#catalog.entries.get(key);
    if (entry === undefined) {
      const added = newEntry<R>(definition);
      const isServed = this.#catalog
        .versionsOf(definition.name)
        .some(({ loaded }) => loaded !== null);
      this.#catalog.add(key, added);
      return isServed ? [added] : [];
    }
    const isSame = entry.definition.fingerprint === definition.fingerprint;
    entry.definition = definition;
    if (isSame) return [];
    entry.failure = null;
    return entry.loaded === null ? [] : [entry];
  }

  /** The old one serves until the new one does, and goes on if the new one fails. */
  async #reload(entry: ModelEntry<R>): Promise<void> {
    await entry.loading?.done;
    await this.#waitFor(this.#residency.load(entry, true));
  }

  /** Unloads a model that exists no longer. A version that serves stays until a newer one does. */
  async #retire(entry: ModelEntry<R>): Promise<void> {
    const { name } = entry.definition;
    const others = this.#catalog.versionsOf(name).filter((other) => other !== entry);
    const isReplaced = others.length === 0 || others.some(({ loaded }) => loaded !== null);
    if (entry.loaded !== null && !isReplaced) return;
    this.#catalog.remove(keyOf(entry.definition));
    await this.#residency.unload(entry);
  }
}
