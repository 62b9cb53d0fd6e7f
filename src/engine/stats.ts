/** The engine's state after an iteration; gauges are levels, the rest counts since start. */
export interface EngineStats {
  readonly numRunning: number;
  readonly numWaiting: number;
  /** Share of the KV cache's memory that running sequences hold, 0 to 1. */
  readonly kvCacheUsage: number;
  readonly numSteps: number;
  /** Tokens that the last step computed, those of prompts and drafts included. */
  readonly stepTokens: number;
  /** Times that a running sequence gave up its slot for want of memory. */
  readonly numPreemptions: number;
  /** Times that it gave up its slot to one of a better service class. */
  readonly numYields: number;
  /** Tokens looked up in the prefix cache, and found there. */
  readonly prefixCacheQueries: number;
  readonly prefixCacheHits: number;
  /** Tokens not found because no cached text begins like the prompt. */
  readonly prefixCacheAbsent: number;
  /** Tokens not found because a cached text that begins like the prompt goes on with others. */
  readonly prefixCacheChanged: number;
  /** Drafts verified, their tokens, and how many of those came true. */
  readonly numDrafts: number;
  readonly numDraftTokens: number;
  readonly numAcceptedTokens: number;
  /** Those of them that a grammar forced. */
  readonly numForcedDraftTokens: number;
  readonly numForcedAcceptedTokens: number;
}
