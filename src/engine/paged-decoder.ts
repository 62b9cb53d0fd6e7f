import type { Decoder, StepResult, VerifiedDraft } from './decoder.ts';
import { type PagedBatch, packSegments, type Segment, segmentsOf } from './paged-batch.ts';
import type { LogitsRow } from './sampler.ts';
import type { CacheOperation, SequenceFailure, StepPlan } from './step-plan.ts';

/** A decoder graph with PagedAttention, and the blocks that it keeps keys and values in. */
export interface PagedModel {
  /** Positions per block. */
  readonly blockSize: number;
  /**
   * Computes a batch and appends to its sequences' blocks.
   * @param logitsRow row of the logits buffer that the first wanted logits go to
   * @returns [wanted][vocab], valid until those rows are computed again
   * @throws OrtError when the run fails; blocks then hold what they held, in valid positions
   */
  run(batch: PagedBatch, logitsRow: number): readonly Float32Array[];
  /** Copies whole blocks; no block is both written and, by a later copy, read. */
  copyBlocks(copies: readonly BlockCopy[]): void;
  release(): void;
}

export interface BlockCopy {
  readonly from: number;
  readonly to: number;
}

/** Runs whole step plans at once: decode, prefill and drafts, of sequences of any length. */
export class PagedDecoder implements Decoder {
  readonly #model: PagedModel;

  constructor(model: PagedModel) {
    this.#model = model;
  }

  rearrange(operations: readonly CacheOperation[]): void {
    const copies = operations.filter((operation) => operation.type === 'copy');
    if (copies.length > 0) this.#model.copyBlocks(copies);
  }

  execute(plan: StepPlan): StepResult {
    const rows: LogitsRow[] = [];
    const verified: VerifiedDraft[] = [];
    const failures: SequenceFailure[] = [];
    const start = performance.now();
    this.#run(segmentsOf(plan), 0, { rows, verified, failures });
    const stepMs = performance.now() - start;
    return { rows, verified, failures, timings: { decodeMs: 0, prefillMs: [], stepMs } };
  }

  /** A run that fails is split, until only the culprit fails. */
  #run(segments: readonly Segment[], logitsRow: number, results: Results): void {
    const [first] = segments;
    if (!first) return;
    try {
      const batch = packSegments(segments, this.#model.blockSize);
      collect(segments, this.#model.run(batch, logitsRow), results);
    } catch (error) {
      if (segments.length === 1) {
        const message = error instanceof Error ? error.message : String(error);
        results.failures.push({ sequence: first.sequence, message });
        return;
      }
      const half = segments.length >> 1;
      const numWanted = segments
        .slice(0, half)
        .reduce((sum, segment) => sum + segment.numWanted, 0);
      this.#run(segments.slice(0, half), logitsRow, results);
      this.#run(segments.slice(half), logitsRow + numWanted, results);
    }
  }

  release(): void {
    this.#model.release();
  }
}

interface Results {
  readonly rows: LogitsRow[];
  readonly verified: VerifiedDraft[];
  readonly failures: SequenceFailure[];
}

function collect(
  segments: readonly Segment[],
  wanted: readonly Float32Array[],
  { rows, verified }: Results,
): void {
  let place = 0;
  for (const { sequence, start, tokenIds, numWanted, kind } of segments) {
    const [logits, ...behind] = wanted.slice(place, (place += numWanted));
    // In the midst of a prompt they are of no use, unless it is scored: that goes token by token.
    const isUsed = kind !== 'prefill' || start + tokenIds.length === sequence.numTokens;
    if (logits && isUsed) rows.push({ sequence, logits });
    if (kind === 'verify') {
      verified.push({ sequence, draftTokenIds: tokenIds.subarray(1), logits: behind });
    }
  }
}
