/** Answers that were computed before, and runs that equal requests share. */
import { setImmediate } from 'node:timers/promises';
import type { CacheWish } from '../caller.ts';
import { LIMITS } from '../../limits.ts';
import type { FanOutRequest } from '../generation/fan-out.ts';
import { type GenerationDelta, isSearch } from '../generation/generation.ts';
import { decodeAnswer, encodeAnswer } from './answer-codec.ts';
import { answerKey, type AnswerScope, isDeterministic, isGenerated } from './answer-key.ts';
import { type CacheCounts, CacheCounter } from './cache-counter.ts';
import { type RunReader, SharedRun } from './shared-run.ts';
import type { TwoLevelCache } from './two-level-cache.ts';

/** Begins a generation, which ends when the signal aborts. */
export type StartRun = (signal: AbortSignal) => AsyncIterableIterator<GenerationDelta, void>;

export interface FoundAnswer {
  readonly deltas: AsyncGenerator<GenerationDelta, void>;
  readonly ageMs: number;
}

/** Steps to answer one request from the cache, or to compute it. */
export interface AnswerPlan {
  /** Finds an answer that was computed before. */
  find(): Promise<FoundAnswer | null>;
  /** Computes it, or joins an equal request that is being computed. */
  run(start: StartRun, signal: AbortSignal): { reader: RunReader; isShared: boolean };
}

export class GenerationCache {
  readonly #store: TwoLevelCache;
  /** By key, priority and service class: what waits with a low one is no use to others. */
  readonly #runs = new Map<string, SharedRun>();
  readonly #counter: CacheCounter;

  constructor(store: TwoLevelCache) {
    this.#store = store;
    this.#counter = new CacheCounter(store);
  }

  get counts(): CacheCounts {
    return this.#counter.counts;
  }

  /** @returns null for a request whose answer is neither looked up nor kept */
  planOf(request: FanOutRequest, scope: AnswerScope, wish: CacheWish): AnswerPlan | null {
    const isWanted = wish.isAsked || isDeterministic(request);
    // A search's answer alone does not say what it has cost.
    const isDrawn = isGenerated(request) && !request.prompts.some(isSearch);
    if (!wish.mayKeep || !isWanted || !isDrawn) {
      this.#counter.bypassed();
      return null;
    }
    const key = answerKey(request, scope);
    const [first] = request.prompts;
    const runKey = `${key} ${first?.priority ?? 0} ${first?.serviceClass?.name ?? ''}`;
    return {
      find: async () => (wish.mayFind ? this.#find(key, wish.maxAgeMs) : null),
      run: (start, signal) => {
        const known = wish.mayFind ? this.#runs.get(runKey) : undefined;
        if (known && known.numReaders < LIMITS.sharedRunReaders) {
          this.#counter.shared();
          return { reader: known.read(signal), isShared: true };
        }
        this.#counter.missed();
        return { reader: this.#start(key, runKey, request, start).read(signal), isShared: false };
      },
    };
  }

  async #find(key: string, maxAgeMs: number | null): Promise<FoundAnswer | null> {
    const found = await this.#store.get(key, maxAgeMs);
    if (found === null) return null;
    this.#counter.hit(found.level);
    return { deltas: replay(found.bytes), ageMs: found.ageMs };
  }

  #start(key: string, runKey: string, request: FanOutRequest, start: StartRun): SharedRun {
    const run: SharedRun = new SharedRun(start, {
      numSequences: request.prompts.length * request.numChoices,
      maxBytes: this.#store.maxEntryBytes,
      onClosed: () => {
        if (this.#runs.get(runKey) === run) this.#runs.delete(runKey);
      },
      onComplete: (deltas) => {
        const bytes = encodeAnswer(deltas);
        if (bytes !== null) this.#store.set(key, bytes);
      },
    });
    this.#runs.set(runKey, run);
    return run;
  }
}

/** Other work goes on between the pieces: a long answer takes a while to write. */
async function* replay(bytes: Uint8Array): AsyncGenerator<GenerationDelta, void> {
  let isFirst = true;
  for (const delta of decodeAnswer(bytes)) {
    if (!isFirst) await setImmediate();
    isFirst = false;
    yield delta;
  }
}
