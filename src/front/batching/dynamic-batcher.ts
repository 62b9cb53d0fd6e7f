import type { Caller } from '../caller.ts';
import { outcomeOfAbort } from '../deadline.ts';
import { ShuttingDownError } from '../queue/admission.ts';
import { type BatchCandidate, decideBatch } from './batch-rules.ts';
import {
  type BatcherOptions,
  type BatchRequest,
  BatchTimeoutError,
  type Outcome,
  type RunBatch,
} from './batcher-options.ts';
import { BatchCounters, type BatcherStats } from './batcher-stats.ts';
import { OrderedAnswers } from './ordered-answers.ts';
import { QueueRoom } from './queue-room.ts';
import { WaitingLine } from './waiting-line.ts';

/** A request that waits or runs. */
interface Item<Input, Output> extends BatchCandidate {
  readonly input: Input;
  readonly client: string;
  /** When it has waited for as long as it may; Infinity for never, or not again. */
  expiresAt: number;
  readonly timeoutMs: number;
  /** Calls beyond the first do nothing. */
  readonly settle: (outcome: Outcome<Output>) => void;
  /** It is in a batch now. */
  readonly onStart: () => void;
}

interface Entered<Input, Output> {
  readonly item: Item<Input, Output>;
  readonly answer: Promise<Output>;
  readonly reject: (error: Error) => void;
}

/**
 * Puts requests to a model without state together in batches, by the rules of Triton's dynamic batcher
 * (see batch-rules.ts). Clients take turns; a request whose caller leaves while it waits is not run.
 */
export class DynamicBatcher<Input, Output> {
  readonly #options: BatcherOptions;
  readonly #run: RunBatch<Input, Output>;
  readonly #now: () => number;
  readonly #line = new WaitingLine<Item<Input, Output>>();
  readonly #room: QueueRoom;
  readonly #counters = new BatchCounters();
  readonly #answers: OrderedAnswers;
  #numRunning = 0;
  #isPlanned = false;
  #isClosed = false;
  /** Until the next request has waited for long enough, or for too long. */
  #timer: NodeJS.Timeout | undefined;

  /** @param now a clock in milliseconds; for tests */
  constructor(
    options: BatcherOptions,
    run: RunBatch<Input, Output>,
    now: () => number = () => performance.now(),
  ) {
    this.#options = options;
    this.#run = run;
    this.#now = now;
    this.#room = new QueueRoom(options.queue, options.isShared ?? (() => false), now);
    this.#answers = new OrderedAnswers(options.preserveOrdering);
  }

  get stats(): BatcherStats {
    return this.#counters.stats({
      numWaiting: this.#line.size,
      waitingBytes: this.#room.bytes,
      numRunning: this.#numRunning,
    });
  }

  /**
   * Runs requests in whatever batches; they enter the queue all or none.
   * @returns their outputs, in their order
   * @throws QueueFullError, BatchTimeoutError, ShuttingDownError; the first failure of one of them;
   *   the signal's reason on abort
   */
  async submit(requests: readonly BatchRequest<Input>[], caller: Caller): Promise<Output[]> {
    caller.signal.throwIfAborted();
    const bytes = requests.reduce((sum, request) => sum + request.bytes, 0);
    this.#requireRoom(requests.length, bytes, caller.client);
    const { record } = caller;
    record?.queued(performance.now());
    const entered = requests.map((request) => this.#enter(request, caller));
    const giveUp = (error: Error) => {
      for (const { item, reject } of entered) {
        // At once, though answers may be held back for others before them.
        reject(error);
        this.#end(item, failure(error));
      }
      this.#plan();
    };
    const leave = () => {
      const waiting = entered.filter(({ item }) => this.#line.has(item));
      this.#counters.count('numCancelled', waiting.length);
      giveUp(caller.signal.reason as Error);
    };
    caller.signal.addEventListener('abort', leave, { once: true });
    this.#plan();
    try {
      const outputs = await Promise.all(entered.map(({ answer }) => answer));
      record?.finished('stop', performance.now(), 0);
      return outputs;
    } catch (error) {
      record?.finished(failureOutcome(error, caller.signal), performance.now(), 0);
      giveUp(error as Error);
      throw error;
    } finally {
      caller.signal.removeEventListener('abort', leave);
    }
  }

  /**
   * Counts requests among the waiting while they are made ready for `submit`.
   * @returns ends it; to be called once, before they are submitted
   * @throws QueueFullError, ShuttingDownError
   */
  prepare(numRequests: number, bytes: number, client: string): () => void {
    this.#requireRoom(numRequests, bytes, client);
    this.#room.enter(client, bytes, numRequests);
    return () => this.#room.leave(client, bytes, numRequests);
  }

  /** Refuses new requests. Those that wait are still run. */
  close(): void {
    this.#isClosed = true;
  }

  /** Fails what waits, for good. */
  fail(error: Error): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const item of this.#line.items()) this.#end(item, { type: 'failed', error });
  }

  #requireRoom(numRequests: number, bytes: number, client: string): void {
    if (this.#isClosed) throw new ShuttingDownError();
    try {
      this.#room.require(numRequests, bytes, client);
    } catch (error) {
      this.#counters.count('numRefused', numRequests);
      throw error;
    }
  }

  #enter(request: BatchRequest<Input>, { client, record }: Caller): Entered<Input, Output> {
    const { rows, tokens, bytes, shape, input, priority = 0 } = request;
    const enqueuedAt = this.#now();
    const timeoutMs = this.#timeoutOf(request);
    let give: (outcome: Outcome<Output>) => void = () => {};
    let reject: (error: Error) => void = () => {};
    const answer = new Promise<Output>((resolve, refuse) => {
      reject = refuse;
      give = (outcome) => {
        if (outcome.type === 'done') resolve(outcome.output);
        else refuse(outcome.error);
      };
    });
    const item: Item<Input, Output> = {
      ...{ input, client, rows, tokens, bytes, shape, enqueuedAt, timeoutMs },
      expiresAt: enqueuedAt + timeoutMs,
      settle: this.#answers.expect(give),
      onStart: () => record?.admitted(performance.now()),
    };
    this.#line.add(item, { client, priority, cost: rows * (tokens + 1) });
    this.#room.enter(client, bytes);
    return { item, answer, reject };
  }

  #timeoutOf({ timeoutMs }: BatchRequest<Input>): number {
    const { defaultTimeoutMs, allowTimeoutOverride } = this.#options.queue;
    const most = defaultTimeoutMs ?? Infinity;
    return allowTimeoutOverride ? Math.min(timeoutMs ?? Infinity, most) : most;
  }

  /** Soon, and once for all that is submitted in this turn of the event loop. */
  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    queueMicrotask(() => {
      this.#isPlanned = false;
      this.#startBatches();
    });
  }

  #startBatches(): void {
    clearTimeout(this.#timer);
    let waitMs = Infinity;
    while (this.#line.size > 0) {
      this.#expire();
      const [first, ...others] = this.#line.items();
      if (first === undefined || this.#numRunning >= this.#options.instances) break;
      const decision = decideBatch([first, ...others], this.#options, this.#now());
      if (decision.type === 'run') {
        void this.#start(decision.batch);
        continue;
      }
      waitMs = decision.ms;
      break;
    }
    const expiresAt = Math.min(...this.#line.items().map((item) => item.expiresAt));
    const wakeMs = Math.min(waitMs, expiresAt - this.#now());
    // Timers round down: woken early, a request would be looked at again and again.
    if (wakeMs !== Infinity)
      this.#timer = setTimeout(() => this.#startBatches(), Math.ceil(wakeMs));
  }

  /** Fails or delays the requests that have waited for too long. */
  #expire(): void {
    const now = this.#now();
    for (const item of this.#line.items()) {
      if (item.expiresAt > now) continue;
      if (this.#options.queue.timeoutAction === 'delay') {
        item.expiresAt = Infinity;
        this.#line.delay(item);
        continue;
      }
      this.#counters.count('numTimedOut');
      this.#end(item, { type: 'failed', error: new BatchTimeoutError(item.timeoutMs) });
    }
  }

  /** Never rejects. */
  async #start(batch: readonly Item<Input, Output>[]): Promise<void> {
    for (const item of batch) {
      this.#leaveQueue(item, true);
      item.onStart();
    }
    this.#numRunning++;
    const startedAt = this.#now();
    const outcomes = await this.#outcomesOf(batch);
    this.#numRunning--;
    this.#counters.batchRan(batch, startedAt, this.#now() - startedAt);
    for (const [index, item] of batch.entries()) {
      const outcome = outcomes[index] ?? failure(new Error('the batch lacks an outcome'));
      this.#counters.count(outcome.type === 'done' ? 'numSucceeded' : 'numFailed');
      this.#room.completed();
      item.settle(outcome);
    }
    if (this.#line.size + this.#numRunning === 0) this.#room.setIdle();
    this.#startBatches();
  }

  async #outcomesOf(batch: readonly Item<Input, Output>[]): Promise<readonly Outcome<Output>[]> {
    try {
      return await this.#run(batch.map(({ input }) => input));
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      return batch.map(() => failure(reason));
    }
  }

  #end(item: Item<Input, Output>, outcome: Outcome<Output>): void {
    this.#leaveQueue(item, false);
    item.settle(outcome);
  }

  #leaveQueue(item: Item<Input, Output>, isServed: boolean): void {
    if (!this.#line.has(item)) return;
    this.#room.leave(item.client, item.bytes);
    if (isServed) this.#line.serve(item);
    else this.#line.remove(item);
  }
}

function failureOutcome(error: unknown, signal: AbortSignal): 'abort' | 'timeout' | 'error' {
  if (signal.aborted) return outcomeOfAbort(signal);
  return error instanceof BatchTimeoutError ? 'timeout' : 'error';
}

function failure<Output>(error: Error): Outcome<Output> {
  return { type: 'failed', error };
}
