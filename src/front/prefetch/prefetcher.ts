/** Has prompts computed ahead of the requests that will begin with them. */
import type { EngineRequest } from '../../engine/request.ts';
import { LIMITS } from '../../limits.ts';
import type { Engine } from '../engine-process/engine-contract.ts';
import { GREEDY } from '../generation/greedy-sampling.ts';
import { QueueFullError } from '../queue/admission.ts';

export interface PrefetchRequest {
  readonly tokenIds: Int32Array;
  /** Salt of those who find it; PUBLIC_SALT is everybody. */
  readonly cacheSalt: string;
  /** Client whose work it is. */
  readonly client: string;
  /** It goes after all others when memory is short. */
  readonly isPinned?: boolean;
}

export interface Prefetched {
  /** Tokens that were there already, in whole blocks. */
  readonly numCachedTokens: number;
}

/**
 * Prefetches take no place in the queue: the engine computes them while it is idle. So only few may run
 * at once.
 */
export class Prefetcher {
  readonly #engine: Pick<Engine, 'generate'>;
  /** Under way, by client. */
  readonly #numRunning = new Map<string, number>();
  #numAll = 0;

  constructor(engine: Pick<Engine, 'generate'>) {
    this.#engine = engine;
  }

  /** @throws QueueFullError, EngineError; the signal's reason on abort */
  async prefetch(request: PrefetchRequest, signal: AbortSignal): Promise<Prefetched> {
    const { client } = request;
    const running = this.#numRunning.get(client) ?? 0;
    if (running >= LIMITS.clientPrefetches || this.#numAll >= LIMITS.prefetches) {
      throw new QueueFullError('requests', 1);
    }
    this.#numRunning.set(client, running + 1);
    this.#numAll++;
    try {
      let numCachedTokens = 0;
      for await (const batch of this.#engine.generate(toEngineRequest(request), signal)) {
        numCachedTokens = batch.numCachedTokens ?? numCachedTokens;
      }
      return { numCachedTokens };
    } finally {
      this.#numAll--;
      const left = (this.#numRunning.get(client) ?? 1) - 1;
      if (left === 0) this.#numRunning.delete(client);
      else this.#numRunning.set(client, left);
    }
  }
}

/** The one token that it generates is nobody's. */
function toEngineRequest({
  tokenIds,
  cacheSalt,
  isPinned = false,
}: PrefetchRequest): Omit<EngineRequest, 'id'> {
  return {
    promptTokenIds: tokenIds,
    outputTokenIds: new Int32Array(),
    maxTokens: 1,
    minTokens: 0,
    priority: 0,
    tier: 0,
    targetItlMs: null,
    arrivalMs: performance.now(),
    cacheSalt,
    background: isPinned ? 'pin' : 'prefetch',
    stopTokenIds: [],
    sampling: GREEDY,
    grammar: null,
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
  };
}
