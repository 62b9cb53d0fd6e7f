/** The engine as the rest of the front sees it; `engine-client.ts` implements it over a process. */
import type { EngineInfo, EngineRequest, EngineStats, FinishReason } from '../engine/messages.ts';

/** Tokens that arrived since the consumer last looked: one per iteration, more when it fell behind. */
export interface TokenBatch {
  readonly tokenIds: readonly number[];
  /** Set on the last batch. */
  readonly finishReason: Exclude<FinishReason, 'error'> | null;
}

export type EngineState = 'starting' | 'ready' | 'recovering' | 'failed' | 'stopped';

/** The engine ended a request, or can't take one. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
}

export interface Engine {
  readonly state: EngineState;
  /** Known once `state` has been `ready`. */
  readonly info: EngineInfo;
  readonly stats: EngineStats;
  /** Calls `listener` after every iteration; returns a function that stops it. */
  onStep(listener: (stats: EngineStats) => void): () => void;
  /**
   * Runs one request. Ending the iteration early (break, return, throw) or aborting the signal frees
   * its row at the next iteration; on abort the iteration ends by throwing the signal's reason.
   * @throws EngineError when the engine fails the request.
   */
  generate(request: Omit<EngineRequest, 'id'>, signal: AbortSignal): AsyncIterable<TokenBatch>;
}
