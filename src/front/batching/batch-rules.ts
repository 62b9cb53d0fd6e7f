/** When a batch is run, and with what: the rules of Triton's dynamic batcher, and batching by tokens. */

export interface BatchLimits {
  /** Most rows of a batch. */
  readonly maxBatchSize: number;
  /** A batch of one of these sizes is run at once; `maxBatchSize` alone if empty. */
  readonly preferredBatchSizes: readonly number[];
  /** Milliseconds that a request may wait for others to be batched with; 0 waits for none. */
  readonly maxQueueDelayMs: number;
  /** Most bytes of a batch's inputs: it crosses to another process in one message. */
  readonly maxBatchBytes: number;
  /**
   * Most tokens of a batch, padding included. If set, waiting requests of similar length are batched
   * together, wherever they are in the queue; otherwise they are taken in order. A request longer than
   * this has a batch of its own.
   */
  readonly maxBatchTokens: number | null;
}

/** A request that waits. */
export interface BatchCandidate {
  readonly rows: number;
  /** Tokens of its longest row. */
  readonly tokens: number;
  readonly bytes: number;
  /** Only requests of the same shape can share a batch. */
  readonly shape: string;
  /** In milliseconds. */
  readonly enqueuedAt: number;
}

export type BatchDecision<Candidate> =
  | { readonly type: 'run'; readonly batch: readonly Candidate[] }
  | { readonly type: 'wait'; readonly ms: number };

/** The most of a batch that may be padding. */
const MAX_PADDING = 0.2;

/** Number of full batches' worth of waiting requests that are searched for some of similar length. */
const WINDOW_BATCHES = 4;

/**
 * Decides whether a free instance of the model runs a batch now, and which, or how long it waits.
 * @param waiting in the order in which they are to be served; the first is in the next batch
 */
export function decideBatch<Candidate extends BatchCandidate>(
  waiting: readonly [Candidate, ...Candidate[]],
  limits: BatchLimits,
  now: number,
): BatchDecision<Candidate> {
  const { maxQueueDelayMs } = limits;
  const preferred =
    limits.preferredBatchSizes.length > 0 ? limits.preferredBatchSizes : [limits.maxBatchSize];
  const maxPreferred = Math.max(...preferred);
  const size = new BatchSize(limits);
  const batch: Candidate[] = [];
  /** Requests up to which the batch has a preferred size, or is as near to one as it gets. */
  let best = 0;
  let isClosed = false;
  /**
   * Arrival of the oldest request looked at, also of those left for another batch: they wait for this
   * one.
   */
  let oldest = Infinity;
  for (const candidate of inBatchOrder(waiting, limits)) {
    if (batch.length > 0) {
      if (size.rows + candidate.rows > maxPreferred && best === 0) best = batch.length;
      if (!size.hasRoomFor(candidate) || candidate.shape !== waiting[0].shape) {
        isClosed = true;
        break;
      }
    }
    oldest = Math.min(oldest, candidate.enqueuedAt);
    if (batch.length > 0 && size.wouldBePadding(candidate)) continue;
    batch.push(candidate);
    size.add(candidate);
    if (preferred.includes(size.rows)) best = batch.length;
  }
  const waitedMs = now - oldest;
  const isLate = waitedMs >= maxQueueDelayMs;
  // A request that has waited for too long runs with all that fit, not only with a preferred number.
  if (best > 0 && (!isLate || maxQueueDelayMs === 0))
    return { type: 'run', batch: batch.slice(0, best) };
  if (isClosed || isLate || size.rows >= maxPreferred) return { type: 'run', batch };
  return { type: 'wait', ms: maxQueueDelayMs - waitedMs };
}

/** By tokens: the first, and then those that are nearest to it in length. */
function inBatchOrder<Candidate extends BatchCandidate>(
  waiting: readonly [Candidate, ...Candidate[]],
  { maxBatchTokens, maxBatchSize }: BatchLimits,
): readonly Candidate[] {
  if (maxBatchTokens === null) return waiting;
  const [first, ...others] = waiting.slice(0, WINDOW_BATCHES * maxBatchSize) as [
    Candidate,
    ...Candidate[],
  ];
  const distance = ({ tokens }: Candidate) => Math.abs(tokens - first.tokens);
  return [first, ...others.sort((a, b) => distance(a) - distance(b))];
}

/** How large a batch is as it grows. */
class BatchSize {
  readonly #limits: BatchLimits;
  rows = 0;
  #bytes = 0;
  #tokens = 0;
  #longest = 0;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  hasRoomFor({ rows, bytes, tokens }: BatchCandidate): boolean {
    const { maxBatchSize, maxBatchBytes, maxBatchTokens } = this.#limits;
    return (
      this.rows + rows <= maxBatchSize &&
      this.#bytes + bytes <= maxBatchBytes &&
      this.#padded(rows, tokens) <= (maxBatchTokens ?? Infinity)
    );
  }

  wouldBePadding({ rows, tokens }: BatchCandidate): boolean {
    if (this.#limits.maxBatchTokens === null) return false;
    const padded = this.#padded(rows, tokens);
    return this.#tokens + rows * tokens < (1 - MAX_PADDING) * padded;
  }

  add({ rows, tokens, bytes }: BatchCandidate): void {
    this.rows += rows;
    this.#bytes += bytes;
    this.#tokens += rows * tokens;
    this.#longest = Math.max(this.#longest, tokens);
  }

  /** Tokens with another request, padding included. */
  #padded(rows: number, tokens: number): number {
    return (this.rows + rows) * Math.max(this.#longest, tokens);
  }
}
