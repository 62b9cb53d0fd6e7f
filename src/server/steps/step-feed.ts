import type { EngineRequest } from '../../engine/request.ts';
import type { StepRecord } from '../../engine/tap/step-record.ts';
import type {
  Engine,
  EngineState,
  StepListener,
} from '../../front/engine-process/engine-contract.ts';
import type { WrittenJson } from '../http/written-json.ts';
import type { StepsEventOf } from '../schemas/steps.ts';
import { KnownRequests } from './known-requests.ts';
import { requestEvent, stepEvent, unixMs, written } from './step-events.ts';
import { StepWatcher } from './step-watcher.ts';

/** Interval between reports of the queue, in milliseconds. */
const QUEUE_MS = 200;

type RequestOf = (id: number) => EngineRequest | undefined;

/** Model whose steps are watched. */
export interface WatchedModel {
  readonly engine: Pick<Engine, 'watchSteps' | 'instances'>;
  /** Its requests that have no place in the engine. */
  readonly queue: () => Omit<StepsEventOf<'queue'>, 'type' | 'at'>;
}

/**
 * Events of a model's engine, for all clients that watch the same interval of steps: each event is
 * written once. It listens to the engine as long as it is open.
 */
export class StepFeed implements StepListener {
  readonly #model: WatchedModel;
  readonly #watchers = new Set<StepWatcher>();
  /** By instance. */
  readonly #requests = new Map<number, KnownRequests>();
  readonly #unfinished = new Map<number, number>();
  readonly #unsubscribe: () => void;
  readonly #queueTimer: NodeJS.Timeout;
  #queue: WrittenJson;
  #wasQueueEmpty = true;

  constructor(model: WatchedModel, every: number) {
    this.#model = model;
    this.#queue = this.#writeQueue();
    this.#unsubscribe = model.engine.watchSteps(this, every);
    this.#queueTimer = setInterval(() => this.#tellQueue(), QUEUE_MS).unref();
  }

  get numWatchers(): number {
    return this.#watchers.size;
  }

  join(): StepWatcher {
    const watcher = new StepWatcher(() => this.#snapshot());
    this.#watchers.add(watcher);
    return watcher;
  }

  leave(watcher: StepWatcher): void {
    this.#watchers.delete(watcher);
  }

  close(): void {
    clearInterval(this.#queueTimer);
    this.#unsubscribe();
  }

  stepped(record: StepRecord, requestOf: RequestOf, instance: number): void {
    const known = this.#requests.get(instance) ?? new KnownRequests();
    this.#requests.set(instance, known);
    const describe = (id: number) => requestEvent(id, requestOf(id), instance);
    for (const event of known.introduce(record, describe)) this.#push(event);
    this.#push(stepEvent(record, instance));
  }

  became(_state: EngineState, numUnfinished: number, instance: number): void {
    this.#unfinished.set(instance, numUnfinished);
    this.#push(this.#writeEngine(instance));
  }

  #push(event: WrittenJson): void {
    for (const watcher of this.#watchers) watcher.push(event);
  }

  #snapshot(): readonly WrittenJson[] {
    const engines = this.#model.engine.instances.map((_, instance) => this.#writeEngine(instance));
    const requests = [...this.#requests.values()].flatMap(({ events }) => [...events]);
    return [...engines, ...requests, this.#queue];
  }

  #writeEngine(instance: number): WrittenJson {
    const engine = this.#model.engine.instances[instance];
    // It can be asked once it has been ready.
    const info = engine === undefined || engine.state === 'starting' ? null : engine.info;
    return written({
      type: 'engine',
      at: unixMs(),
      instance,
      state: engine?.state ?? 'stopped',
      crashes: engine?.numCrashes ?? 0,
      unfinished: this.#unfinished.get(instance) ?? 0,
      slots: info?.numSlots ?? null,
      kv_tokens: info?.kvCacheTokens ?? null,
    });
  }

  #writeQueue(): WrittenJson {
    const queue = this.#model.queue();
    this.#wasQueueEmpty = queue.num_waiting === 0;
    return written({ type: 'queue', at: unixMs(), ...queue });
  }

  #tellQueue(): void {
    const wasEmpty = this.#wasQueueEmpty;
    this.#queue = this.#writeQueue();
    if (!wasEmpty || !this.#wasQueueEmpty) this.#push(this.#queue);
  }
}
