/** Beginnings of prompts that the operator wants to be in the cache always. */
import { PUBLIC_SALT } from '../../engine/request.ts';
import type { EngineInfo } from '../../engine/process/protocol.ts';
import { LIMITS } from '../../limits.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import type { Prefetched, Prefetcher } from './prefetcher.ts';

export interface PinnedPrefixesOptions {
  readonly prefetcher: Pick<Prefetcher, 'prefetch'>;
  readonly engine: { readonly info: Pick<EngineInfo, 'kvCacheTokens' | 'numSlots'> };
  /** Milliseconds after which each is asked for again. */
  readonly refreshMs?: number;
}

const REFRESH_MS = 30_000;

/**
 * Everybody finds them. They go last when memory is short, but they do go: whoever runs comes first.
 * Each is asked for again every now and then, which costs a token if it is still there, and computes it
 * if it went or the engine was replaced.
 */
export class PinnedPrefixes {
  readonly #options: PinnedPrefixesOptions;
  readonly #prefixes: Int32Array[] = [];
  readonly #closed = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #isRefreshing = false;

  constructor(options: PinnedPrefixesOptions) {
    this.#options = options;
    const { refreshMs = REFRESH_MS } = options;
    this.#timer = setInterval(() => void this.#refresh(), refreshMs).unref();
  }

  /** Tokens of all. */
  get numTokens(): number {
    return this.#prefixes.reduce((sum, { length }) => sum + length, 0);
  }

  /**
   * @returns once it is computed
   * @throws InvalidRequestError when all together would be too long; as Prefetcher
   */
  async pin(tokenIds: Int32Array, signal: AbortSignal): Promise<Prefetched> {
    const isKnown = this.#prefixes.some((known) => areEqual(known, tokenIds));
    if (!isKnown) {
      this.#requireRoom(tokenIds.length);
      this.#prefixes.push(tokenIds);
    }
    return await this.#compute(tokenIds, AbortSignal.any([signal, this.#closed.signal]));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#closed.abort(new Error('the model is unloaded'));
  }

  #requireRoom(numTokens: number): void {
    const { kvCacheTokens, numSlots } = this.#options.engine.info;
    const share = LIMITS.cacheTokensPerPinned;
    const maxTokens = Math.floor(kvCacheTokens / share);
    const maxPrefixes = Math.max(1, Math.floor(numSlots / share));
    const fits = this.numTokens + numTokens <= maxTokens && this.#prefixes.length < maxPrefixes;
    if (fits) return;
    throw new InvalidRequestError(
      `${this.#prefixes.length} prefixes of ${this.numTokens} tokens are pinned, and this one has ${numTokens}: the KV cache has room for ${maxPrefixes} of ${maxTokens} tokens together.`,
      'pin',
      'too_much_pinned',
    );
  }

  async #compute(tokenIds: Int32Array, signal: AbortSignal): Promise<Prefetched> {
    const { prefetcher } = this.#options;
    const request = { tokenIds, cacheSalt: PUBLIC_SALT, client: '\0pinned', isPinned: true };
    return await prefetcher.prefetch(request, signal);
  }

  /** Never rejects. */
  async #refresh(): Promise<void> {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    try {
      for (const tokenIds of this.#prefixes) await this.#compute(tokenIds, this.#closed.signal);
    } catch {
      // The engine is away; the next time comes.
    }
    this.#isRefreshing = false;
  }
}

function areEqual(a: Int32Array, b: Int32Array): boolean {
  return a.length === b.length && a.every((tokenId, index) => tokenId === b[index]);
}
