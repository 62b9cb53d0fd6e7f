import type { CacheOperation } from './cache-operation.ts';
import type { TimedRun } from './timed-run.ts';
import type { Logprobs } from './request.ts';
import { endOfRun } from './prompt-embeddings.ts';
import type { Candidates } from './sampling/candidates.ts';
import type { Sequence } from './sequence.ts';

/** Tokens of one sequence to run through the model, after those that the cache holds. */
export interface Segment {
  readonly sequence: Sequence;
  /** Position of the first token: the cache holds all before it. */
  readonly start: number;
  /** Tokens to compute, at least 1: the sequence's own, then those of the draft. */
  readonly numTokens: number;
  /** Number of last tokens whose logits are wanted. */
  readonly numLogits: number;
  /**
   * Guesses at how the sequence goes on, to be verified. The cache gets wrong ones too; they are
   * written over later.
   */
  readonly draftTokenIds: Int32Array;
}

/** Work of one step, as a plain value. Planning reserves memory; nothing counts before commit. */
export interface StepPlan {
  readonly cacheOperations: readonly CacheOperation[];
  /** Segments, each of another sequence. The decoder decides how they become runs of the model. */
  readonly segments: readonly Segment[];
}

/** The model's logits after a segment. */
export interface SegmentLogits {
  readonly segment: Segment;
  /**
   * [numLogits][vocab], after each of the segment's last tokens; or those of the candidates; or empty
   * where the sequence takes no other token than `best`. The sampler may overwrite them.
   */
  readonly logits: readonly Float32Array[];
  /** The id of the highest of each of them, or -1 when none is a finite number; if it is known. */
  readonly best?: readonly number[];
  /** Set if no other tokens could be drawn. */
  readonly candidates?: Candidates;
  /** The last norm's output, [hidden], after the segment's last token; if the graph outputs it. */
  readonly hidden?: Float32Array | null;
}

/** A sequence whose run failed, or whose logits can't be sampled. */
export interface SequenceFailure {
  readonly sequence: Sequence;
  readonly message: string;
  /** Its grammar is to blame. */
  readonly isOfGrammar?: boolean;
}

/** Result of running a plan. */
export interface StepResult {
  /** Logits of the segments that want them and did not fail. */
  readonly logits: readonly SegmentLogits[];
  readonly failures: readonly SequenceFailure[];
  readonly timedRuns: readonly TimedRun[];
}

/** Runs plans. The engine's only view of the model. */
export interface Decoder {
  /**
   * Never throws for an error that a single sequence caused: it reports that sequence as failed.
   */
  execute(plan: StepPlan): StepResult;
  release(): void;
}

/** A sampled token, waiting for commit. */
export interface SampledToken {
  readonly tokenId: number;
  /** See TokenOutput. */
  readonly logprobs?: Logprobs;
  readonly promptLogprobs?: Logprobs;
}

/** The tokens sampled after a segment: one, and one more for each draft token that came true. */
export interface SampledSegment {
  readonly segment: Segment;
  readonly tokens: readonly SampledToken[];
  /** Readout of a sequence that ends with its prompt, in place of tokens. */
  readonly values?: Float32Array;
}

/** Result of sampling a step. A sequence that is in neither list computes its last token once more. */
export interface StepOutcome {
  readonly sampled: readonly SampledSegment[];
  readonly failures: readonly SequenceFailure[];
}

const NO_DRAFT = new Int32Array();

/**
 * The next tokens of a sequence. Logits are wanted of its last token, and of each token of a prompt
 * that is scored.
 * @param wanted how many, at least 1; fewer, or more, where they would end within an image, see endOfRun
 */
export function segmentOf(
  sequence: Sequence,
  wanted: number,
  start = sequence.numComputedTokens,
): Segment {
  const numTokens = endOfRun(sequence.request, start, start + wanted) - start;
  const isLast = start + numTokens === sequence.numTokens;
  const numLogits = isLast || sequence.scoresPrompt ? 1 : 0;
  return { sequence, start, numTokens, numLogits, draftTokenIds: NO_DRAFT };
}

/** The tokens to compute. Valid until the sequence gets another token. */
export function tokenIdsOf({ sequence, start, numTokens, draftTokenIds }: Segment): Int32Array {
  const own = sequence.tokenIds(start, start + numTokens - draftTokenIds.length);
  return draftTokenIds.length === 0 ? own : Int32Array.of(...own, ...draftTokenIds);
}
