import type { Logprobs } from './request.ts';
import type { Sequence } from './sequence.ts';

/** A stretch of one sequence's tokens to run through the model, on top of what is cached. */
export interface PrefillChunk {
  readonly sequence: Sequence;
  /** Index of the first token; equals the sequence's computed length. */
  readonly start: number;
  /** Tokens in the chunk, at least 1. */
  readonly length: number;
}

/**
 * Chunks that are run together: one chunk, or several whole fresh prompts (start 0) in consecutive
 * rows, padded to the longest.
 */
export type PrefillRun = readonly PrefillChunk[];

/** Work on the cache's memory, done in order before anything runs. */
export type CacheOperation =
  | {
      /** Copies the first `length` positions of a row to another. */
      readonly type: 'copy';
      readonly from: number;
      readonly to: number;
      readonly length: number;
    }
  | {
      /** Gives back the memory of a row's positions from `start` on: their content is void. */
      readonly type: 'discard';
      readonly row: number;
      readonly start: number;
      readonly end: number;
    };

/**
 * One row of the decode run. A row without a sequence to advance is dead: it lies between live rows,
 * so it has to be computed, and writes where nothing is kept: at `position`.
 */
export interface DecodeRow {
  readonly sequence: Sequence | null;
  /** Where the row's token goes: the number of positions before it. */
  readonly position: number;
}

/**
 * A decoding sequence's last token and draft tokens after it, run together for the logits behind
 * each. What is written to the cache for a wrong draft token is written again later.
 */
export interface VerifyRun {
  readonly sequence: Sequence;
  /** At least 1. */
  readonly draftTokenIds: Int32Array;
}

/** Verify runs that a step has at most. */
export const MAX_VERIFY_RUNS = 4;
/**
 * The same where one of the sequences has a grammar: what is forced of several texts seldom comes at
 * once, and looking for it costs them all.
 */
export const MAX_CONSTRAINED_VERIFY_RUNS = 2;

/** What one iteration does. A plain value: planning reserves rows, nothing is visible before commit. */
export interface StepPlan {
  readonly cacheOperations: readonly CacheOperation[];
  /** Index = row of the KV cache, from row 0. Empty when nothing decodes. */
  readonly decode: readonly DecodeRow[];
  readonly prefill: readonly PrefillRun[];
  /** In place of a decode run. */
  readonly verify?: readonly VerifyRun[];
  /** Live tokens computed: decoding sequences, prefill chunks and drafts. */
  readonly numBatchedTokens: number;
}

/** A sampled token, waiting for commit. */
export interface SampledToken {
  readonly sequence: Sequence;
  readonly tokenId: number;
  /** See TokenOutput. */
  readonly logprobs?: Logprobs;
  readonly promptLogprobs?: Logprobs;
}

/** A sequence that its run, or its logits, failed. */
export interface SequenceFailure {
  readonly sequence: Sequence;
  readonly message: string;
}
