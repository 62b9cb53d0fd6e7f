import type { EngineRequest } from '../../engine/request.ts';
import { TokenStream } from './token-stream.ts';

/** After this many crashes a request runs alone. */
const MAX_CRASHES_IN_COMPANY = 2;
/** After this many it fails: the last crash was its own. */
const MAX_CRASHES = 4;
/** It waits through this many pauses of the circuit breaker; then it fails. */
const MAX_PAUSES = 3;

export interface LiveRequest {
  readonly request: EngineRequest;
  readonly stream: TokenStream;
  readonly outputTokenIds: number[];
  /** Since its last token, of processes that had it. */
  crashes: number;
  /** Pauses of the circuit breaker since its last token. */
  pauses: number;
}

/**
 * The unfinished requests: which of them the engine process has, and which of them its crashes are
 * blamed on.
 *
 * A crash counts against every request that the process had, until that request's next token. A
 * process that had no requests, for instance because it died while loading, counts against none.
 * Two crashes may be chance, or the fault of another request in the batch. A request with two
 * crashes is a suspect and runs alone: one suspect at a time is submitted, and nothing else until
 * all suspects have had a token. So only one request at a time can reach three crashes. It comes
 * first in the next process, alone: a fourth crash is its own, and fails it and no other. Three
 * kills fail nothing, wherever they fall. (A durable KV cache keeps the slots of what is submitted
 * first: suspects that wait for their turn are computed again.)
 */
export class LiveRequests {
  readonly #all = new Map<number, LiveRequest>();
  /** Those that the engine process does not have. */
  #held = new Set<LiveRequest>();

  get size(): number {
    return this.#all.size;
  }

  get(id: number): LiveRequest | undefined {
    return this.#all.get(id);
  }

  add(request: EngineRequest): LiveRequest {
    const stream = new TokenStream();
    const outputTokenIds = [...request.outputTokenIds];
    const live = { request, stream, outputTokenIds, crashes: 0, pauses: 0 };
    this.#all.set(request.id, live);
    this.#held.add(live);
    return live;
  }

  /** @returns whether it was still there */
  delete(id: number): boolean {
    const live = this.#all.get(id);
    if (live) this.#held.delete(live);
    return this.#all.delete(id);
  }

  progressed(live: LiveRequest, tokenId: number): void {
    live.outputTokenIds.push(tokenId);
    live.crashes = 0;
    live.pauses = 0;
  }

  /** @returns what to submit to the engine process now, with the tokens that it already has */
  handOver(): EngineRequest[] {
    const next = this.#next();
    const requests = next.map(({ request, outputTokenIds }) => ({
      ...request,
      outputTokenIds: Int32Array.from(outputTokenIds),
    }));
    for (const live of next) this.#held.delete(live);
    return requests;
  }

  /** Ends those that the engine process does not have: they could not be handed over. */
  readonly failHeld = (error: unknown): void => {
    for (const { stream } of [...this.#held]) stream.fail(error);
  };

  #next(): LiveRequest[] {
    if (this.#held.size === 0) return [];
    const suspects = [...this.#all.values()].filter(
      ({ crashes }) => crashes >= MAX_CRASHES_IN_COMPANY,
    );
    if (suspects.length === 0) return [...this.#held];
    if (suspects.some((live) => !this.#held.has(live))) return [];
    return suspects.toSorted((a, b) => b.crashes - a.crashes).slice(0, 1);
  }

  /** The engine process has ended. @returns the request that is to blame, if one is; live no more */
  crashed(): LiveRequest[] {
    for (const live of this.#all.values()) if (!this.#held.has(live)) live.crashes++;
    this.#held = new Set(this.#all.values());
    return this.#remove(({ crashes }) => crashes >= MAX_CRASHES);
  }

  /** The circuit breaker has opened. @returns those that wait no longer; live no more */
  paused(): LiveRequest[] {
    for (const live of this.#all.values()) live.pauses++;
    return this.#remove(({ pauses }) => pauses > MAX_PAUSES);
  }

  /** Ends one, if it is still there. */
  fail(id: number, error: unknown): void {
    this.#all.get(id)?.stream.fail(error);
  }

  /** Ends them all. */
  failAll(error: Error): void {
    for (const { stream } of this.#remove(() => true)) stream.fail(error);
  }

  #remove(isOver: (live: LiveRequest) => boolean): LiveRequest[] {
    const over = [...this.#all.values()].filter(isOver);
    for (const { request } of over) this.delete(request.id);
    return over;
  }
}
