/** Bounds how many requests run and wait, so that overload gives an answer at once and no delay. */
import { guarded } from '../../guarded.ts';
import { once } from '../../once.ts';
import { CompletionRate } from './completion-rate.ts';
import { FairQueue } from './fair-queue.ts';
import { isWithinShare, largestShare, QueueShares } from './queue-shares.ts';
import { TierCounts } from './tier-counts.ts';

const MAX_RETRY_AFTER_SECONDS = 60;

/** Which of the queue's bounds is reached. */
export type QueueBound = 'requests' | 'tokens';

/** Too many requests, or too long prompts, wait already. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
  readonly bound: QueueBound;
  /** When it may be worth to try again, 1 to 60. */
  readonly retryAfterSeconds: number;

  constructor(bound: QueueBound, retryAfterSeconds: number) {
    super(`too many ${bound === 'tokens' ? 'prompt tokens' : 'requests'} are waiting`);
    this.bound = bound;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** No new requests are admitted. */
export class ShuttingDownError extends Error {
  override readonly name = 'ShuttingDownError';

  constructor() {
    super('the server is shutting down');
  }
}

/** Gives a place back; calling it again does nothing. */
export type Release = () => void;

export interface AdmissionOptions {
  /** Requests that run at once, at least 1. */
  readonly concurrency: number;
  /** Requests that may wait for one of those to end; 0 rejects what can't start at once. */
  readonly maxQueue: number;
  /** Prompt tokens that may wait; a single request is always let in. No bound if left out. */
  readonly maxQueueTokens?: number;
  /**
   * Whether several clients share the queue. Then none may fill it for the others, and a client
   * without a waiting request gets one in even if the queue is full.
   */
  readonly isShared?: () => boolean;
  /** A clock in milliseconds; for tests. */
  readonly now?: () => number;
}

/** Request as the queue receives it. */
export interface AdmissionRequest {
  /** Lower goes first. */
  readonly priority?: number;
  /** Tier of its service class: requests of lower, better tiers do not wait for it. 0 if left out. */
  readonly tier?: number;
  /** The most that its tier may hold of the places; all if left out. */
  readonly share?: number;
  /** Client of the request: clients wait for their own requests before they wait for others'. */
  readonly client?: string;
  readonly numPromptTokens?: number;
  /** Most tokens that it may generate. */
  readonly maxTokens?: number;
  /**
   * It comes for a part of the same request that has just given its place back. It waits as others do,
   * but is not refused: so such parts wait beyond the queue's bounds, no more of them than can run.
   */
  readonly isNextPart?: boolean;
}

/**
 * How many requests the engine gets at once: a few more than it has slots. When a slot is freed,
 * the next sequence is in the engine already, and the slot does not idle while one crosses from the
 * front. They have left the fair queue, and everybody waits for them, so they are few.
 */
export function requestsInEngine(maxNumSeqs: number): number {
  return maxNumSeqs + Math.ceil(maxNumSeqs / 32);
}

export class Admission {
  /** Each starts its request. */
  readonly #queue = new FairQueue<() => void>();
  readonly #concurrency: number;
  readonly #maxQueue: number;
  readonly #maxQueueTokens: number;
  readonly #isShared: () => boolean;
  /** Shares of all waiting requests, those included that are being prepared. */
  readonly #shares = new QueueShares();
  readonly #rate: CompletionRate;
  readonly #running = new TierCounts();
  readonly #waiting = new TierCounts();
  readonly #waitingTokens = new TierCounts();
  /** Places of tiers that may not have all. */
  readonly #places = new Map<number, number>();
  #preparing = 0;
  readonly #numRejected: Record<QueueBound, number> = { requests: 0, tokens: 0 };
  readonly #idleListeners: (() => void)[] = [];
  #nextId = 0;
  #isClosed = false;

  constructor(options: AdmissionOptions) {
    this.#maxQueueTokens = options.maxQueueTokens ?? Infinity;
    this.#concurrency = options.concurrency;
    this.#maxQueue = options.maxQueue;
    this.#isShared = options.isShared ?? (() => false);
    this.#rate = new CompletionRate(options.now ?? (() => performance.now()));
  }

  get running(): number {
    return this.#running.total;
  }

  /** Requests without a place, those that are being prepared included. */
  get waiting(): number {
    return this.#waiting.total + this.#preparing;
  }

  /** Prompt tokens of the requests that wait. */
  get waitingTokens(): number {
    return this.#waitingTokens.total;
  }

  /** Requests rejected since the start, by the bound that was reached. */
  get numRejected(): Readonly<Record<QueueBound, number>> {
    return this.#numRejected;
  }

  /** Generations that one request may ask for and still be let in, once nothing else waits. */
  get mostPerRequest(): number {
    const maxQueue = this.#maxQueue;
    return this.#concurrency + (this.#isShared() ? largestShare(maxQueue) : maxQueue);
  }

  /**
   * For the start of a request, before work is spent on it: that the queue has room for one more.
   * @param numPromptTokens or a low estimate
   * @param client whose it is
   * @param tier of its service class: those of higher ones are not in its way
   * @throws QueueFullError, ShuttingDownError
   */
  requireRoom(numPromptTokens: number, client = '', tier = 0): void {
    if (this.#isClosed) throw new ShuttingDownError();
    if (!this.#hasPlace(client, tier)) this.#reject('requests');
    if (!this.#hasRoomForTokens(numPromptTokens, client, tier)) this.#reject('tokens');
  }

  #hasPlace(client: string, tier: number): boolean {
    // Those that start at once do not count.
    const leaving = Math.max(0, this.#concurrency - this.#running.upTo(tier));
    const waiting = this.#waiting.upTo(tier) + this.#preparing;
    if (waiting < leaving) return true;
    const free = this.#maxQueue - (waiting - leaving);
    if (!this.#isShared() || this.#maxQueue === 0) return free > 0;
    const { requests } = this.#shares.of(client);
    if (requests <= leaving) return requests === 0 || free > 0;
    return isWithinShare(requests - leaving, 1, free);
  }

  #hasRoomForTokens(numTokens: number, client: string, tier: number): boolean {
    const free = this.#maxQueueTokens - this.#waitingTokens.upTo(tier);
    if (!this.#isShared()) return this.#waiting.upTo(tier) === 0 || numTokens <= free;
    const { requests, tokens } = this.#shares.of(client);
    return requests === 0 || isWithinShare(tokens, numTokens, free);
  }

  /**
   * Counts a request as waiting while its prompt is made: it takes a place in the queue before its
   * tokens are known.
   * @returns ends it; to be called before `acquire`
   * @throws QueueFullError, ShuttingDownError
   */
  prepare(client = ''): Release {
    this.requireRoom(0, client);
    this.#preparing++;
    this.#shares.add(client, 0);
    return once(() => {
      this.#preparing--;
      this.#shares.remove(client, 0);
    });
  }

  /**
   * Waits for a place, which is held until `Release` is called. Aborting leaves the queue at once;
   * it does not give back a place already held.
   * @throws QueueFullError, ShuttingDownError at once; the signal's reason on abort.
   */
  async acquire(signal: AbortSignal, request: AdmissionRequest = {}): Promise<Release> {
    const { priority = 0, tier = 0, share = 1, client = '' } = request;
    const { numPromptTokens = 0, maxTokens = 0 } = request;
    signal.throwIfAborted();
    if (request.isNextPart !== true) this.requireRoom(numPromptTokens, client, tier);
    this.#places.set(tier, Math.max(1, Math.floor(share * this.#concurrency)));
    this.#rate.setBusy(true);
    const leaveQueue = this.#enterQueue(client, numPromptTokens, tier);
    const id = String(this.#nextId++);
    const leave = (): void => {
      this.#queue.remove(id);
      leaveQueue();
      this.#settle();
    };
    try {
      return await new Promise((admit, reject) => {
        const abort = (): void => {
          leave();
          reject(signal.reason as Error);
        };
        const start = (): void => {
          signal.removeEventListener('abort', abort);
          leaveQueue();
          this.#running.add(tier, 1);
          admit(once(() => this.#end(tier)));
        };
        signal.addEventListener('abort', abort, { once: true });
        const cost = numPromptTokens + maxTokens + 1;
        // Its starter is whoever makes room.
        this.#queue.enqueue(guarded(start, reject), { id, level: priority, tier, client, cost });
        this.#startNext();
      });
    } catch (error) {
      leave();
      // Where its turn had come, the place is free.
      this.#startNext();
      throw error;
    }
  }

  #startNext(): void {
    this.#queue.dequeue((tier) => this.#mayStart(tier))?.();
  }

  /** Places of higher tiers count as free: the engine takes their slots for it. */
  #mayStart(tier: number): boolean {
    const places = this.#places.get(tier) ?? this.#concurrency;
    return this.#running.upTo(tier) < this.#concurrency && this.#running.of(tier) < places;
  }

  #end(tier: number): void {
    this.#running.add(tier, -1);
    this.#rate.completed();
    this.#startNext();
    this.#settle();
  }

  /** Resolves when nothing runs or waits. */
  async onIdle(): Promise<void> {
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#idleListeners.push(resolve));
  }

  /** Rejects new requests. Those that wait still get their turn; abort their signals to end them. */
  close(): void {
    this.#isClosed = true;
  }

  #enterQueue(client: string, numTokens: number, tier: number): Release {
    this.#waiting.add(tier, 1);
    this.#waitingTokens.add(tier, numTokens);
    this.#shares.add(client, numTokens);
    return once(() => {
      this.#waiting.add(tier, -1);
      this.#waitingTokens.add(tier, -numTokens);
      this.#shares.remove(client, numTokens);
    });
  }

  get #isIdle(): boolean {
    return this.#running.total + this.#waiting.total === 0;
  }

  #settle(): void {
    if (!this.#isIdle) return;
    this.#rate.setBusy(false);
    for (const resolve of this.#idleListeners.splice(0)) resolve();
  }

  #reject(bound: QueueBound): never {
    this.#numRejected[bound]++;
    throw new QueueFullError(bound, this.#retryAfterSeconds());
  }

  /** How long those that wait now will take to start, by the recent rate. */
  #retryAfterSeconds(): number {
    const perSecond = this.#rate.perSecond();
    const seconds = perSecond === 0 ? 1 : Math.ceil((this.waiting + 1) / perSecond);
    return Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS);
  }
}
