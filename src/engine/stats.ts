/** The engine's state after an iteration; gauges are levels, the rest counts since start. */
export interface LoopStats {
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

/** Counts of prefixes beyond the KV cache, in memory and in a folder; all 0 without. */
export interface PrefixTierStats {
  /** Prompt tokens that slots did not have and that were looked up there, and those found and loaded. */
  readonly externalPrefixCacheQueries: number;
  readonly externalPrefixCacheHits: number;
  readonly prefixTierMemoryBytes: number;
  readonly prefixTierMemoryBlocks: number;
  /** Sums over the whole folder, other models' and servers' files included. */
  readonly prefixTierFolderBytes: number;
  readonly prefixTierFolderBlocks: number;
  /** Blocks saved, and texts of which something was not, since their slot was needed. */
  readonly prefixTierSaved: number;
  readonly prefixTierLost: number;
  /** Files that could not be read or written, or were damaged. */
  readonly prefixTierErrors: number;
}

/** Figures that the engine's process tells with each step. */
export interface EngineStats extends LoopStats, PrefixTierStats {}

export const NO_PREFIX_TIER: PrefixTierStats = {
  externalPrefixCacheQueries: 0,
  externalPrefixCacheHits: 0,
  prefixTierMemoryBytes: 0,
  prefixTierMemoryBlocks: 0,
  prefixTierFolderBytes: 0,
  prefixTierFolderBlocks: 0,
  prefixTierSaved: 0,
  prefixTierLost: 0,
  prefixTierErrors: 0,
};
