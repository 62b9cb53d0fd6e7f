import type { StoredAnswer, TwoLevelCache } from './two-level-cache.ts';

/** Counts of one cache since the server started; `entries` and `bytes` are the present ones. */
export interface CacheCounts {
  readonly hits: Readonly<Record<StoredAnswer['level'], number>>;
  readonly misses: number;
  /** Requests that read what an equal one had computed. */
  readonly shared: number;
  /** Requests that were neither looked up nor kept. */
  readonly bypasses: number;
  readonly evictions: number;
  /** Errors of the second level. */
  readonly errors: number;
  readonly entries: number;
  readonly bytes: number;
}

export class CacheCounter {
  readonly #store: Pick<TwoLevelCache, 'stats'>;
  readonly #hits = { memory: 0, redis: 0 };
  #misses = 0;
  #shared = 0;
  #bypasses = 0;

  constructor(store: Pick<TwoLevelCache, 'stats'>) {
    this.#store = store;
  }

  hit(level: StoredAnswer['level']): void {
    this.#hits[level]++;
  }

  missed(): void {
    this.#misses++;
  }

  shared(): void {
    this.#shared++;
  }

  bypassed(): void {
    this.#bypasses++;
  }

  get counts(): CacheCounts {
    return {
      hits: { ...this.#hits },
      misses: this.#misses,
      shared: this.#shared,
      bypasses: this.#bypasses,
      ...this.#store.stats,
    };
  }
}
