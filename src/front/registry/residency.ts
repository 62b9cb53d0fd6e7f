/** Brings models into memory and out of it. */
import PQueue from 'p-queue';
import { ModelUnavailableError } from './errors.ts';
import { makeRoom, type Resident, type Room } from './eviction.ts';
import { LoadedModel, type Runtime } from './loaded-model.ts';
import type { ModelDefinition } from './model-definition.ts';
import { publicReason } from './public-reason.ts';
import { infoOf, type ModelEntry, type ModelInfo, type ModelLoad } from './model-entry.ts';
import { reasonOf } from '../../files/system-error.ts';

export interface ModelLoader<R extends Runtime> {
  /**
   * Bytes that the model will take, as far as that can be known before it is loaded.
   * @throws when the model can't be loaded at all
   */
  estimate(definition: ModelDefinition): Promise<number>;
  /** @throws when the model can't be loaded, saying why */
  load(definition: ModelDefinition, onState: (state: ModelLoad['state']) => void): Promise<R>;
}

export type RegistryEvent =
  /** A load has begun, or got further. */
  | { readonly type: 'loading'; readonly model: ModelInfo }
  | { readonly type: 'loaded'; readonly model: ModelInfo; readonly seconds: number }
  | { readonly type: 'failed'; readonly model: ModelInfo; readonly error: unknown }
  | { readonly type: 'unloaded'; readonly model: ModelInfo; readonly wasEvicted: boolean };

export interface ResidencyOptions<R extends Runtime> extends Room {
  readonly loader: ModelLoader<R>;
  /**
   * Milliseconds that an idle model stays, unless it or a request says otherwise; Infinity is for ever.
   * With null it stays whatever they say.
   */
  readonly keepAliveMs: number | null;
  /** Called when a model changes its state, for logs and metrics. */
  readonly onEvent?: (event: RegistryEvent) => void;
}

/** Models loaded at a time: building one takes a core, and memory beyond its own. */
const LOADS_AT_ONCE = 2;
/** Timers of more milliseconds run out at once in Node. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A model that takes memory, from before its load until it is stopped. */
interface Place<R extends Runtime> extends Resident {
  bytes: number;
  readonly entry: ModelEntry<R>;
  loaded: LoadedModel<R> | null;
}

/** Nobody waits for this load any more. */
class AbandonedError extends Error {}

export class Residency<R extends Runtime> {
  readonly #options: ResidencyOptions<R>;
  readonly #places = new Set<Place<R>>();
  readonly #loads = new PQueue({ concurrency: LOADS_AT_ONCE });
  /** Listeners of loads that wait for room; called when there may be some. */
  readonly #roomListeners = new Set<() => void>();
  #isClosed = false;

  constructor(options: ResidencyOptions<R>) {
    this.#options = options;
  }

  /**
   * Loads a model, or joins the load under way.
   * @param isReplacement for an older version, or what the same was loaded from before: both may be in
   *   memory until this one serves
   */
  load(entry: ModelEntry<R>, isReplacement = false): ModelLoad {
    if (entry.loading !== null) return entry.loading;
    const { promise, resolve } = deferred();
    const load: ModelLoad = { done: promise, state: 'loading', numWaiting: 0, release: null };
    entry.loading = load;
    void this.#load(entry, load, isReplacement).then(resolve);
    return load;
  }

  /** @returns once it is out of memory: requests that use it end first */
  async unload(entry: ModelEntry<R>, wasEvicted = false): Promise<void> {
    const { loaded } = entry;
    if (loaded === null) return;
    this.use(entry);
    entry.loaded = null;
    await this.#drain(entry, loaded);
    this.#options.onEvent?.({ type: 'unloaded', model: infoOf(entry), wasEvicted });
  }

  /** A request has come for it. */
  use(entry: ModelEntry<R>): void {
    clearTimeout(entry.idleTimer);
  }

  /** Milliseconds that a model stays after its last use. */
  keepAliveMs({ keepAliveMs, definition }: ModelEntry<R>): number {
    const { keepAliveMs: usual } = this.#options;
    return usual === null ? Infinity : (keepAliveMs ?? definition.keepAliveMs ?? usual);
  }

  /** Lets an idle model go when its time is over. */
  watchIdle(entry: ModelEntry<R>): void {
    clearTimeout(entry.idleTimer);
    const { loaded } = entry;
    const keepAliveMs = this.keepAliveMs(entry);
    if (loaded === null || !loaded.isIdle || keepAliveMs > MAX_TIMER_MS) return;
    entry.idleTimer = setTimeout(() => void this.unload(entry), keepAliveMs).unref();
  }

  /** A request no longer waits for a load: it has the model, or gave up. */
  left(load: ModelLoad): void {
    if (load.numWaiting > 0) return;
    load.release?.();
    this.#tellRoom();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#tellRoom();
    const places = [...this.#places];
    for (const { entry } of places) clearTimeout(entry.idleTimer);
    await Promise.all(places.map(async ({ loaded }) => loaded?.runtime.stop()));
  }

  async #load(entry: ModelEntry<R>, load: ModelLoad, isReplacement: boolean): Promise<void> {
    const startedAt = performance.now();
    const { definition } = entry;
    const { loader, onEvent } = this.#options;
    let place: Place<R> | undefined;
    try {
      if (definition.problem !== null) throw new ModelUnavailableError(definition.problem);
      place = newPlace(entry, await loader.estimate(definition));
      await this.#claim(place, load, isReplacement);
      const runtime = await this.#loads.add(() =>
        loader.load(definition, (state) => {
          load.state = state;
          onEvent?.({ type: 'loading', model: infoOf(entry) });
        }),
      );
      await this.#settle(place, load, runtime);
      onEvent?.({
        type: 'loaded',
        model: infoOf(entry),
        seconds: (performance.now() - startedAt) / 1000,
      });
    } catch (error) {
      if (place !== undefined) this.#places.delete(place);
      entry.loading = null;
      this.#tellRoom();
      if (error instanceof AbandonedError) return;
      entry.failure = publicReason(reasonOf(error), definition.source);
      entry.failedAt = performance.now();
      onEvent?.({ type: 'failed', model: infoOf(entry), error });
    }
  }

  async #settle(place: Place<R>, load: ModelLoad, runtime: R): Promise<void> {
    const { entry } = place;
    if (this.#isClosed) {
      await runtime.stop();
      throw new AbandonedError();
    }
    const old = entry.loaded;
    const loaded = new LoadedModel(runtime, () => {
      if (entry.loaded === loaded) this.watchIdle(entry);
      this.#tellRoom();
    });
    place.loaded = loaded;
    place.bytes = runtime.memoryBytes;
    entry.loaded = loaded;
    entry.loading = null;
    entry.failure = null;
    if (load.numWaiting > 0) load.release = loaded.pin();
    this.watchIdle(entry);
    if (old !== null) void this.#drain(entry, old);
  }

  /** Evicts idle models until there is room, or waits until busy ones are idle. */
  async #claim(place: Place<R>, load: ModelLoad, isReplacement: boolean): Promise<void> {
    const { bytes, entry } = place;
    const { maxModels, maxBytes } = this.#options;
    const isReplaced = (other: Place<R>): boolean =>
      isReplacement && other.entry.definition.name === entry.definition.name;
    for (;;) {
      if (this.#isClosed) throw new AbandonedError();
      const places = [...this.#places];
      const replacedBytes = places
        .filter(isReplaced)
        .reduce((sum, replaced) => sum + replaced.bytes, 0);
      const others = places.filter((other) => !isReplaced(other));
      const room = { maxModels, maxBytes: maxBytes - replacedBytes };
      const plan = makeRoom(room, others, bytes);
      if (plan.kind === 'never') throw tooLarge(bytes, replacedBytes, maxBytes);
      if (plan.kind === 'fits') {
        this.#places.add(place);
        await Promise.all(plan.evicted.map((evicted) => this.unload(evicted.entry, true)));
        return;
      }
      if (load.numWaiting === 0) throw new AbandonedError();
      await this.#nextRoom();
    }
  }

  async #drain(entry: ModelEntry<R>, loaded: LoadedModel<R>): Promise<void> {
    entry.numDraining++;
    await loaded.drain();
    entry.numDraining--;
    for (const place of this.#places) if (place.loaded === loaded) this.#places.delete(place);
    this.#tellRoom();
  }

  #nextRoom(): Promise<void> {
    const { promise, resolve } = deferred();
    this.#roomListeners.add(resolve);
    return promise;
  }

  #tellRoom(): void {
    const listeners = [...this.#roomListeners];
    this.#roomListeners.clear();
    for (const listener of listeners) listener();
  }
}

function newPlace<R extends Runtime>(entry: ModelEntry<R>, bytes: number): Place<R> {
  return {
    entry,
    bytes,
    loaded: null,
    get idleSince() {
      const { loaded } = this;
      return loaded !== null && loaded.isIdle && !loaded.isDraining ? loaded.idleSince : null;
    },
  };
}

function tooLarge(bytes: number, replacedBytes: number, maxBytes: number): ModelUnavailableError {
  const beside = replacedBytes > 0 ? ` beside the ${inMebibytes(replacedBytes)} it replaces` : '';
  return new ModelUnavailableError(
    `it takes ${inMebibytes(bytes)}${beside}, and all models together may take ` +
      `${inMebibytes(maxBytes)} (--models-memory)`,
  );
}

function inMebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 2 ** 20).toLocaleString('en')} MiB`;
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}
