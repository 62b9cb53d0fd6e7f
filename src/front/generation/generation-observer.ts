/** Observes one request, for metrics and logs. */
import { QueueFullError, ShuttingDownError } from '../queue/admission.ts';
import type { GenerationRequest } from './generation.ts';

/** `abort`: the client left; `timeout`: its time was over; `rejected`: never admitted. */
export type GenerationOutcome = 'stop' | 'length' | 'abort' | 'timeout' | 'error' | 'rejected';

/**
 * Follows one request; times are milliseconds of `performance.now()`. `queued` comes first,
 * `finished` last, each exactly once; `admitted` and `tokens` only if it got that far. Time to
 * first token runs from `queued` to the first `tokens`.
 */
export interface GenerationObserver {
  queued(timeMs: number): void;
  admitted(timeMs: number): void;
  /** @param numTokens tokens that arrived together, at least 1 */
  tokens(numTokens: number, timeMs: number): void;
  /** @param detokenizeMs that its tokens took to become text */
  finished(outcome: GenerationOutcome, timeMs: number, detokenizeMs: number): void;
}

/**
 * Called once per request; its prompt length and parameters are in `request`.
 * @returns null when nobody observes the request
 */
export type ObserveGeneration = (request: GenerationRequest) => GenerationObserver | null;

/** How a request ended that failed with this. */
export function outcomeOf(error: unknown): GenerationOutcome {
  const isRejected = error instanceof QueueFullError || error instanceof ShuttingDownError;
  return isRejected ? 'rejected' : 'error';
}
