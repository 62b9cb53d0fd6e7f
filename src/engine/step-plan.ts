import type { Sequence } from './sequence.ts';

/** A stretch of one sequence's tokens to run through the model, on top of what is cached. */
export interface PrefillChunk {
  readonly sequence: Sequence;
  /** Index of the first token; equals the sequence's computed length. */
  readonly start: number;
  /** Tokens in the chunk, at least 1. */
  readonly length: number;
}

/** Cached positions that move to another row before anything runs. */
export interface RowMove {
  readonly from: number;
  readonly to: number;
  /** Positions to move. */
  readonly length: number;
}

/**
 * One row of the decode run. A row without a sequence to advance is dead: it lies between live rows,
 * so it has to be computed, and writes where nothing is kept: at `position`.
 */
export interface DecodeRow {
  readonly sequence: Sequence | null;
  /** Where the row's token goes: the number of positions before it. */
  readonly position: number;
}

/** What one iteration does. A plain value: planning reserves rows, nothing is visible before commit. */
export interface StepPlan {
  readonly moves: readonly RowMove[];
  /** Index = row of the KV cache, from row 0. Empty when nothing decodes. */
  readonly decode: readonly DecodeRow[];
  readonly prefill: readonly PrefillChunk[];
  /** Live tokens computed: decoding sequences plus prefill chunks. */
  readonly numBatchedTokens: number;
}

/** A sampled token, waiting for commit. */
export interface SampledToken {
  readonly sequence: Sequence;
  readonly tokenId: number;
}

/** A sequence that its run, or its logits, failed. */
export interface SequenceFailure {
  readonly sequence: Sequence;
  readonly message: string;
}
