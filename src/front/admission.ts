/** Bounds how many requests run and wait, so that overload is answered at once and not by delay. */
import PQueue from 'p-queue';
import { CompletionRate } from './completion-rate.ts';

const MAX_RETRY_AFTER_SECONDS = 60;

/** Too many requests wait already. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';
  /** When it may be worth to try again, 1 to 60. */
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super('too many requests are waiting');
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Nothing new is admitted any more. */
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
  /** Requests that may wait for one of those to end; 0 refuses what can't start at once. */
  readonly maxQueue: number;
  /** A clock in milliseconds; for tests. */
  readonly now?: () => number;
}

export class Admission {
  readonly #queue: PQueue;
  readonly #capacity: number;
  readonly #rate: CompletionRate;
  // p-queue lowers its own counts some microtasks after a task has ended. A request that comes in
  // between would be refused though there is a place.
  #running = 0;
  #waiting = 0;
  #isClosed = false;

  constructor(options: AdmissionOptions) {
    // p-queue's `timeout` runs from the start of a task and does not end it: deadlines are left to
    // the request's signal.
    this.#queue = new PQueue({ concurrency: options.concurrency });
    this.#capacity = options.concurrency + options.maxQueue;
    this.#rate = new CompletionRate(options.now ?? (() => performance.now()));
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Waits for a place, which is held until `Release` is called. Aborting leaves the queue at once;
   * it does not give back a place already held.
   * @param priority lower goes first; in order of arrival among equals
   * @throws QueueFullError, ShuttingDownError at once; the signal's reason on abort.
   */
  async acquire(signal: AbortSignal, priority = 0): Promise<Release> {
    signal.throwIfAborted();
    if (this.#isClosed) throw new ShuttingDownError();
    // Not `onSizeLessThan`: it waits for room in the queue, which makes a queue of its own.
    if (this.#running + this.#waiting >= this.#capacity) {
      throw new QueueFullError(this.#retryAfterSeconds());
    }
    this.#rate.setBusy(true);
    this.#waiting++;
    // p-queue gives a task's place to the next one as soon as the task's signal aborts, though it may
    // still run. This one is cut off from the request's signal once it has started.
    const inQueue = new AbortController();
    const leave = (): void => {
      this.#waiting--;
      this.#settle();
      inQueue.abort(signal.reason);
    };
    signal.addEventListener('abort', leave, { once: true });
    return new Promise((admit, refuse) => {
      const hold = async (): Promise<void> => {
        signal.removeEventListener('abort', leave);
        this.#waiting--;
        this.#running++;
        await new Promise<void>((release) => {
          admit(this.#once(release));
        });
      };
      // p-queue's order is the other way round.
      const options = { priority: -priority, signal: inQueue.signal };
      this.#queue.add(hold, options).catch(refuse);
    });
  }

  /** Resolves when nothing runs or waits. */
  async onIdle(): Promise<void> {
    await this.#queue.onIdle();
  }

  /** Refuses new requests. Those that wait still get their turn; abort their signals to end them. */
  close(): void {
    // Not p-queue's `clear`: it leaves the promises of the tasks it drops pending for ever.
    this.#isClosed = true;
  }

  #once(release: () => void): Release {
    let isReleased = false;
    return () => {
      if (isReleased) return;
      isReleased = true;
      this.#running--;
      this.#rate.completed();
      this.#settle();
      release();
    };
  }

  #settle(): void {
    if (this.#running + this.#waiting === 0) this.#rate.setBusy(false);
  }

  /** How long those that wait now will take to start, by the recent rate. */
  #retryAfterSeconds(): number {
    const perSecond = this.#rate.perSecond();
    const seconds = perSecond === 0 ? 1 : Math.ceil((this.#waiting + 1) / perSecond);
    return Math.min(Math.max(seconds, 1), MAX_RETRY_AFTER_SECONDS);
  }
}
