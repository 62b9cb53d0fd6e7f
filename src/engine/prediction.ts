import type { Segment } from './step.ts';

/** Takes the hidden states of all tokens that a model computes. */
export interface HiddenSink {
  /**
   * Called after a run, once for each of its segments.
   * @param rows [segment's tokens, hidden], valid until the next run
   */
  take(segment: Segment, rows: Float32Array): void;
}

/** Positions of a slot for a module that predicts to compute. */
export interface PredictionRun {
  readonly slot: number;
  /** First position. */
  readonly start: number;
  /** The token after each position. */
  readonly tokenIds: Int32Array;
  /** [positions, hidden], the hidden state at each. */
  readonly hidden: Float32Array;
}

/** Results at a run's last position, valid until the next run. */
export interface Predicted {
  /** [vocab] */
  readonly logits: Float32Array;
  /** [hidden], what the prediction after this one takes. */
  readonly hidden: Float32Array;
}

/** A module that predicts the token after the next one, over layers of its own of the model's KV cache. */
export interface PredictionModule {
  /** Gives on the hidden states of the model's tokens. */
  follow(sink: HiddenSink): void;
  /** @throws Error when the run fails */
  run(run: PredictionRun): Predicted;
}
