/** Answers by key: in memory and, if one is configured, in a store that replicas share. */
import { LRUCache } from 'lru-cache';

/** A store that may be slow or gone: then it answers nothing, soon. */
export interface SecondLevel {
  /** @returns null when it has none. @throws when it can't be asked */
  get(key: string): Promise<Buffer | null>;
  /** @throws when it can't be asked */
  set(key: string, bytes: Uint8Array, ttlMs: number): Promise<void>;
}

export interface TwoLevelCacheOptions {
  /** Bytes of all answers in memory. */
  readonly maxBytes: number;
  /** Bytes of one answer; a longer one is not kept. */
  readonly maxEntryBytes: number;
  /** Milliseconds that an answer is kept. */
  readonly ttlMs: number;
  readonly second?: SecondLevel | null;
  /** Milliseconds since 1970; replicas' clocks agree about. */
  readonly now?: () => number;
}

export interface StoredAnswer {
  readonly bytes: Uint8Array;
  readonly ageMs: number;
  readonly level: 'memory' | 'redis';
}

interface Entry {
  readonly bytes: Uint8Array;
  readonly storedAt: number;
}

/** Bytes that an entry takes in addition to its content. */
const ENTRY_BYTES = 256;
/** Before the bytes of a shared answer: when it was stored, as a double. */
const HEAD_BYTES = 8;

export class TwoLevelCache {
  readonly maxEntryBytes: number;
  readonly #memory: LRUCache<string, Entry>;
  readonly #second: SecondLevel | null;
  readonly #ttlMs: number;
  readonly #now: () => number;
  #evictions = 0;
  #errors = 0;

  constructor({ maxBytes, maxEntryBytes, ttlMs, second, now }: TwoLevelCacheOptions) {
    this.maxEntryBytes = Math.min(maxEntryBytes, maxBytes - ENTRY_BYTES);
    this.#ttlMs = ttlMs;
    this.#second = second ?? null;
    this.#now = now ?? Date.now;
    this.#memory = new LRUCache<string, Entry>({
      maxSize: maxBytes,
      sizeCalculation: ({ bytes }) => bytes.length + ENTRY_BYTES,
      dispose: (_entry, _key, reason) => {
        if (reason === 'evict') this.#evictions++;
      },
    });
  }

  get stats() {
    return {
      entries: this.#memory.size,
      bytes: this.#memory.calculatedSize,
      evictions: this.#evictions,
      errors: this.#errors,
    };
  }

  /** @param maxAgeMs of an answer that will do; null for any that is kept */
  async get(key: string, maxAgeMs: number | null): Promise<StoredAnswer | null> {
    const known = this.#memory.get(key);
    const own = known && this.#fresh(known, maxAgeMs);
    if (own) return { ...own, level: 'memory' };
    const shared = await this.#getShared(key);
    // Replicas' clocks may differ a little.
    const found = shared && this.#fresh(shared, maxAgeMs);
    if (!shared || !found) return null;
    this.#remember(key, shared);
    return { ...found, level: 'redis' };
  }

  /** Keeps an answer, if it is not too long. */
  set(key: string, bytes: Uint8Array): void {
    if (bytes.length > this.maxEntryBytes) return;
    const entry = { bytes, storedAt: this.#now() };
    this.#remember(key, entry);
    if (this.#second === null) return;
    const packed = Buffer.alloc(HEAD_BYTES + bytes.length);
    packed.writeDoubleLE(entry.storedAt);
    packed.set(bytes, HEAD_BYTES);
    this.#second.set(key, packed, this.#ttlMs).catch(() => this.#errors++);
  }

  #remember(key: string, entry: Entry): void {
    this.#memory.set(key, entry);
  }

  #fresh({ bytes, storedAt }: Entry, maxAgeMs: number | null): Omit<StoredAnswer, 'level'> | null {
    const ageMs = Math.max(0, this.#now() - storedAt);
    const isFresh = ageMs <= Math.min(this.#ttlMs, maxAgeMs ?? Infinity);
    return isFresh ? { bytes, ageMs } : null;
  }

  async #getShared(key: string): Promise<Entry | null> {
    if (this.#second === null) return null;
    try {
      const packed = await this.#second.get(key);
      if (packed === null) return null;
      const bytes = new Uint8Array(packed.subarray(HEAD_BYTES));
      return { bytes, storedAt: packed.readDoubleLE() };
    } catch {
      this.#errors++;
      return null;
    }
  }
}
