/** Tells clients of `/models/sse` what happens to models. */
import type { ModelInfo } from '../../front/registry/model-entry.ts';
import { LIMITS } from '../../limits.ts';
import type { ServerContext } from '../context.ts';
import { StreamPlaces } from '../http/stream-places.ts';
import type { JsonObject } from '../json-object.ts';
import { modelIdOf, severalVersions } from '../model-id.ts';
import { statusEvent } from './llama-status.ts';

/** How often a feed looks whether the server is shutting down. */
const LOOK_MS = 1000;

export class StatusFeeds {
  readonly #context: Pick<ServerContext, 'models' | 'isDraining'>;
  readonly #places = new StreamPlaces(
    { all: LIMITS.modelListeners, ofClient: LIMITS.clientModelListeners },
    'the states of models',
  );

  constructor(context: Pick<ServerContext, 'models' | 'isDraining'>) {
    this.#context = context;
  }

  /**
   * The state of each model, then what changes, until `signal` aborts.
   * @throws ApiError 429 when too many listen
   */
  open(client: string, signal: AbortSignal): AsyncGenerator<readonly JsonObject[], void> {
    return this.#feed(this.#places.take(client), signal);
  }

  /** For a slow reader only the last state of each model is kept. */
  async *#feed(
    leavePlace: () => void,
    signal: AbortSignal,
  ): AsyncGenerator<readonly JsonObject[], void> {
    const { models, isDraining } = this.#context;
    const waiting = new Map<string, ModelInfo>();
    let wake = (): void => {};
    const note = (info: ModelInfo): void => {
      waiting.set(`${info.name}@${info.version}`, info);
      wake();
    };
    const unsubscribe = models.subscribe(({ model }) => note(model));
    const looking = setInterval(() => wake(), LOOK_MS).unref();
    // Whoever leaves makes room for another at once.
    const leave = (): void => wake();
    signal.addEventListener('abort', leave);
    try {
      for (const info of models.list()) note(info);
      while (!signal.aborted && !isDraining()) {
        const infos = [...waiting.values()];
        waiting.clear();
        const several = severalVersions(models.list());
        yield infos.map((info) => statusEvent(info, modelIdOf(several, info)));
        if (waiting.size === 0) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      clearInterval(looking);
      signal.removeEventListener('abort', leave);
      unsubscribe();
      leavePlace();
    }
  }
}
