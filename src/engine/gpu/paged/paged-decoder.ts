import type { Decoder, StepResult, VerifiedDraft } from '../../cpu/cpu-decoder.ts';
import { type PagedBatch, packSegments, type Segment, segmentsOf } from './paged-batch.ts';
import type { LogitsRow } from '../../sampling/sampler.ts';
import type { Sequence } from '../../sequence.ts';
import type { CacheOperation, SequenceFailure, StepPlan } from '../../step.ts';

/** A decoder graph with PagedAttention, and the blocks that it keeps keys and values in. */
export interface PagedModel {
  /** Positions per block. */
  readonly blockSize: number;
  readonly vocabSize: number;
  /**
   * Computes a batch: appends to its sequences' blocks, and leaves the wanted logits to be read.
   * @throws DeviceError when the run fails, as when the device is lost
   */
  run(batch: PagedBatch): void;
  /**
   * Reads the last run's wanted logits.
   * @param sequences whose each of them are; null where they are not needed
   */
  read(sequences: readonly (Sequence | null)[]): LogitsRow[];
  /** Reads every logit of the last run's first wanted rows, as the sequence's. */
  readWhole(sequence: Sequence, count: number): LogitsRow[];
  /** Copies whole blocks, reading all of them before it writes. */
  copyBlocks(copies: readonly BlockMove[]): void;
  release(): void;
}

export interface BlockMove {
  readonly from: number;
  readonly to: number;
}

/**
 * Runs whole step plans at once: decode, prefill and drafts, of sequences of any length. A run that
 * fails is not one sequence's fault: it throws, and takes the engine down.
 */
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
    const failures: SequenceFailure[] = [];
    const start = performance.now();
    const segments = segmentsOf(plan).filter((segment) => this.#isRunnable(segment, failures));
    if (segments.length > 0) this.#model.run(packSegments(segments, this.#model.blockSize));
    const isVerify = segments.some(({ kind }) => kind === 'verify');
    const verified = isVerify ? this.#readVerified(segments) : [];
    const rows = isVerify ? verified.map(({ next }) => next) : this.#model.read(usersOf(segments));
    const stepMs = performance.now() - start;
    return { rows, verified, failures, timings: { decodeMs: 0, prefillMs: [], stepMs } };
  }

  #readVerified(segments: readonly Segment[]): (VerifiedDraft & { readonly next: LogitsRow })[] {
    const numWanted = segments.reduce((sum, segment) => sum + segment.numWanted, 0);
    const [first] = segments;
    const wanted = first ? this.#model.readWhole(first.sequence, numWanted) : [];
    return segments.map(({ sequence, tokenIds }) => {
      const [logits = new Float32Array(), ...behind] = wanted
        .splice(0, tokenIds.length)
        .map((row) => row.logits);
      const draftTokenIds = tokenIds.subarray(1);
      return { sequence, draftTokenIds, logits: behind, next: { sequence, logits } };
    });
  }

  /** Devices don't check token ids: one outside of the vocabulary would read what lies there. */
  #isRunnable({ sequence, tokenIds }: Segment, failures: SequenceFailure[]): boolean {
    const { vocabSize } = this.#model;
    const outside = tokenIds.find((id) => id < 0 || id >= vocabSize);
    if (outside === undefined) return true;
    const message = `token ${outside} is out of range: the vocabulary has ${vocabSize}`;
    failures.push({ sequence, message });
    return false;
  }

  release(): void {
    this.#model.release();
  }
}

/** In the midst of a prompt logits are of no use, unless it is scored: that goes token by token. */
function usersOf(segments: readonly Segment[]): (Sequence | null)[] {
  return segments.map(({ sequence, start, tokenIds, kind }) =>
    kind === 'decode' || start + tokenIds.length === sequence.numTokens ? sequence : null,
  );
}
