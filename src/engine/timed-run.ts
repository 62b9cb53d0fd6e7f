/** Consecutive positions of one sequence that a run computed, padding included. */
export interface Span {
  readonly start: number;
  readonly length: number;
}

/** Spans that one run of the model computed, and how long it took. */
export interface TimedRun {
  /** One token each. */
  readonly decode: readonly Span[];
  readonly prefill: readonly Span[];
  /** A token with its draft each. */
  readonly verify: readonly Span[];
  readonly ms: number;
}
