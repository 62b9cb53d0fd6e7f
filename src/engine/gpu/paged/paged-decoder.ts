import type { TimedRun } from '../../timed-run.ts';
import type {
  Decoder,
  Segment,
  SegmentLogits,
  SequenceFailure,
  StepPlan,
  StepResult,
} from '../../step.ts';
import { runnable } from '../token-range.ts';
import { type PagedBatch, packSegments } from './paged-batch.ts';

/** A decoder graph with PagedAttention, and the pages that it keeps keys and values in. */
export interface PagedModel {
  /** Positions per page. */
  readonly pageLength: number;
  readonly vocabSize: number;
  /**
   * Computes a batch: appends to its sequences' pages, and leaves the wanted logits to be read.
   * @throws DeviceError when the run fails, as when the device is lost
   */
  run(batch: PagedBatch): void;
  /**
   * Reads the last run's wanted logits.
   * @param segments of the batch that want logits, in its order
   */
  read(segments: readonly Segment[]): SegmentLogits[];
  /** Copies whole pages, reading all of them before it writes. */
  copyPages(copies: readonly PageMove[]): void;
  release(): void;
}

export interface PageMove {
  readonly from: number;
  readonly to: number;
}

/**
 * Runs a whole step at once: decode, prefill and drafts, of sequences of any length. A run that fails
 * is not one sequence's fault: it throws, and takes the engine down.
 */
export class PagedDecoder implements Decoder {
  readonly #model: PagedModel;

  constructor(model: PagedModel) {
    this.#model = model;
  }

  execute({ cacheOperations, segments }: StepPlan): StepResult {
    const copies = cacheOperations.filter((operation) => operation.type === 'copy');
    if (copies.length > 0) this.#model.copyPages(copies);
    const failures: SequenceFailure[] = [];
    const batch = runnable(segments, this.#model.vocabSize, failures);
    if (batch.length === 0) return { logits: [], failures, timedRuns: [] };
    const startedAt = performance.now();
    this.#model.run(packSegments(batch, this.#model.pageLength));
    // Reading waits for the device.
    const logits = this.#model.read(batch.filter(({ numLogits }) => numLogits > 0));
    const timedRun = timedRunOf(batch, performance.now() - startedAt);
    return { logits, failures, timedRuns: [timedRun] };
  }

  release(): void {
    this.#model.release();
  }
}

function timedRunOf(segments: readonly Segment[], ms: number): TimedRun {
  const spans = segments.map(({ start, numTokens, numLogits, draftTokenIds }) => {
    const isDraft = draftTokenIds.length > 0;
    const isDecode = numTokens === 1 && numLogits === 1;
    return { start, length: numTokens, isDraft, isDecode };
  });
  return {
    decode: spans.filter(({ isDecode }) => isDecode),
    prefill: spans.filter(({ isDecode, isDraft }) => !isDecode && !isDraft),
    verify: spans.filter(({ isDraft }) => isDraft),
    ms,
  };
}
