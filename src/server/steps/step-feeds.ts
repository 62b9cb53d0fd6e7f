/** Watchers of the engines' iterations, no more than the server can bear. */
import { setTimeout as sleep } from 'node:timers/promises';
import { LIMITS } from '../../limits.ts';
import type { ServerContext } from '../context.ts';
import type { TextRuntime } from '../runtimes.ts';
import { tooManyListeners } from '../errors.ts';
import type { WrittenJson } from '../http/written-json.ts';
import { startEvent, unixMs } from './step-events.ts';
import { StepFeed } from './step-feed.ts';
import { told } from '../../told.ts';

/** Milliseconds of iterations that are sent together. */
const FLUSH_MS = 40;

type Watched = Pick<TextRuntime, 'engine' | 'model'>;

export class StepFeeds {
  readonly #context: Pick<ServerContext, 'running' | 'isDraining'>;
  /** By how closely they look. */
  readonly #feeds = new Map<Watched['engine'], Map<number, StepFeed>>();
  #num = 0;

  constructor(context: Pick<ServerContext, 'running' | 'isDraining'>) {
    this.#context = context;
  }

  /**
   * Events of a model's engine from now on, until `signal` aborts or the engine stops.
   * @throws ApiError 429 when too many watch
   */
  open(
    runtime: Watched,
    every: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly WrittenJson[], void> {
    if (this.#num >= LIMITS.stepWatchers) {
      throw tooManyListeners(LIMITS.stepWatchers, "engines' iterations");
    }
    this.#num++;
    return this.#events(runtime, every, signal);
  }

  async *#events(
    { engine, model }: Watched,
    every: number,
    signal: AbortSignal,
  ): AsyncGenerator<readonly WrittenJson[], void> {
    const { isDraining } = this.#context;
    const feed = this.#feedOf({ engine, model }, every);
    const watcher = feed.join();
    try {
      yield [startEvent(model.id, every, unixMs())];
      while (!signal.aborted && !isDraining() && engine.state !== 'stopped') {
        yield watcher.take();
        await sleep(FLUSH_MS);
      }
      yield watcher.take();
    } finally {
      this.#num--;
      feed.leave(watcher);
      if (feed.numWatchers === 0) {
        feed.close();
        this.#forget(engine, every);
      }
    }
  }

  #feedOf({ engine, model }: Watched, every: number): StepFeed {
    const feeds = this.#feeds.get(engine) ?? new Map<number, StepFeed>();
    this.#feeds.set(engine, feeds);
    const queue = () => this.#queueOf(model.id);
    const feed = feeds.get(every) ?? new StepFeed({ engine, queue }, every);
    feeds.set(every, feed);
    return feed;
  }

  #forget(engine: Watched['engine'], every: number): void {
    const feeds = this.#feeds.get(engine);
    feeds?.delete(every);
    if (feeds?.size === 0) this.#feeds.delete(engine);
  }

  #queueOf(modelId: string) {
    const now = performance.now();
    const waiting = this.#context.running
      .list(null)
      .filter(({ model, state }) => model === modelId && state() === 'waiting');
    return {
      num_waiting: waiting.length,
      requests: waiting.slice(0, LIMITS.watchedQueue).map((request) => ({
        request_id: told(request.id, 100),
        class: request.serviceClass,
        prompt_tokens: request.promptTokens,
        waited_ms: Math.round(now - request.startedAt),
      })),
    };
  }
}
