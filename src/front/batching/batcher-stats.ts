/** Counters of a batcher since its start, from which Triton's statistics are made. */
export interface BatcherStats {
  readonly numWaiting: number;
  readonly waitingBytes: number;
  readonly numRunning: number;
  readonly numSucceeded: number;
  readonly numFailed: number;
  /** Refused, since the queue was full. */
  readonly numRefused: number;
  readonly numTimedOut: number;
  /** Requests whose client left. */
  readonly numCancelled: number;
  /** Rows of all batches. */
  readonly numRows: number;
  /** Tokens of all batches, and with their padding. */
  readonly numTokens: number;
  readonly numPaddedTokens: number;
  readonly numBatches: number;
  /** Milliseconds that the requests of all batches waited. */
  readonly queueMs: number;
  /** Milliseconds that all batches ran. */
  readonly runMs: number;
  /** By rows: how many batches, and milliseconds that they ran. */
  readonly batchSizes: ReadonlyMap<number, { readonly count: number; readonly runMs: number }>;
}

type Counter = 'numSucceeded' | 'numFailed' | 'numRefused' | 'numTimedOut' | 'numCancelled';

export class BatchCounters {
  readonly #counts: Record<Counter, number> = {
    numSucceeded: 0,
    numFailed: 0,
    numRefused: 0,
    numTimedOut: 0,
    numCancelled: 0,
  };
  readonly #sums = {
    numRows: 0,
    numTokens: 0,
    numPaddedTokens: 0,
    numBatches: 0,
    queueMs: 0,
    runMs: 0,
  };
  readonly #batchSizes = new Map<number, { count: number; runMs: number }>();

  count(what: Counter, times = 1): void {
    this.#counts[what] += times;
  }

  batchRan(
    batch: readonly {
      readonly rows: number;
      readonly tokens: number;
      readonly enqueuedAt: number;
    }[],
    startedAt: number,
    runMs: number,
  ): void {
    const rows = batch.reduce((sum, request) => sum + request.rows, 0);
    const longest = Math.max(...batch.map(({ tokens }) => tokens));
    this.#sums.numBatches++;
    this.#sums.numRows += rows;
    this.#sums.numTokens += batch.reduce((sum, request) => sum + request.rows * request.tokens, 0);
    this.#sums.numPaddedTokens += rows * longest;
    this.#sums.queueMs += batch.reduce((sum, { enqueuedAt }) => sum + startedAt - enqueuedAt, 0);
    this.#sums.runMs += runMs;
    const { count, runMs: before } = this.#batchSizes.get(rows) ?? { count: 0, runMs: 0 };
    this.#batchSizes.set(rows, { count: count + 1, runMs: before + runMs });
  }

  stats(now: Pick<BatcherStats, 'numWaiting' | 'waitingBytes' | 'numRunning'>): BatcherStats {
    return { ...now, ...this.#counts, ...this.#sums, batchSizes: new Map(this.#batchSizes) };
  }
}
