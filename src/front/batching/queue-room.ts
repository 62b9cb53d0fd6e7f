import { CompletionRate } from '../queue/completion-rate.ts';
import { QueueFullError } from '../queue/admission.ts';
import { isWithinShare, largestShare, QueueShares } from '../queue/queue-shares.ts';
import type { QueuePolicy } from './batcher-options.ts';

const MAX_RETRY_AFTER_SECONDS = 60;

/** Bounds how much waits for a batch, by requests and by bytes, and shares it among clients. */
export class QueueRoom {
  readonly #policy: QueuePolicy;
  readonly #isShared: () => boolean;
  readonly #shares = new QueueShares();
  readonly #rate: CompletionRate;
  #requests = 0;
  #bytes = 0;

  constructor(policy: QueuePolicy, isShared: () => boolean, now: () => number) {
    this.#policy = policy;
    this.#isShared = isShared;
    this.#rate = new CompletionRate(now);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Requires room for some requests together.
   * @throws QueueFullError
   */
  require(numRequests: number, bytes: number, client: string): void {
    const { maxQueue, maxQueueBytes } = this.#policy;
    const held = this.#shares.of(client);
    if (
      this.#fits(held.requests, numRequests, this.#requests, maxQueue) &&
      this.#fits(held.tokens, bytes, this.#bytes, maxQueueBytes)
    ) {
      return;
    }
    const perSecond = this.#rate.perSecond();
    const seconds = perSecond === 0 ? 1 : Math.ceil((this.#requests + numRequests) / perSecond);
    throw new QueueFullError('requests', Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS));
  }

  /** @param bytes of all of them */
  enter(client: string, bytes: number, numRequests = 1): void {
    this.#requests += numRequests;
    this.#bytes += bytes;
    for (let i = 0; i < numRequests; i++) this.#shares.add(client, bytes / numRequests);
    this.#rate.setBusy(true);
  }

  leave(client: string, bytes: number, numRequests = 1): void {
    this.#requests -= numRequests;
    this.#bytes -= bytes;
    for (let i = 0; i < numRequests; i++) this.#shares.remove(client, bytes / numRequests);
  }

  completed(): void {
    this.#rate.completed();
  }

  setIdle(): void {
    this.#rate.setBusy(false);
  }

  #fits(held: number, wanted: number, taken: number, most: number): boolean {
    const free = most - taken;
    if (!this.#isShared()) return wanted <= free;
    // A client with nothing in the queue gets in, full or not.
    return held === 0 ? wanted <= largestShare(most) : isWithinShare(held, wanted, free);
  }
}
