/** Parameters of requests to all kinds of models, by Triton's names. */
import { badRequest } from '../errors.ts';
import type { InferRequest } from './infer-request.ts';

/** Lower goes first; 0 for the model's default. @throws ApiError 400 */
export function priorityOf({ parameters: { priority } }: InferRequest): number {
  if (priority === undefined) return 0;
  const number = Number(priority);
  if (typeof priority !== 'boolean' && Number.isSafeInteger(number)) return number;
  throw badRequest('`priority`: expected a whole number.', 'priority', 'invalid_value');
}

/** Milliseconds that a request may wait; null for the model's own. @throws ApiError 400 */
export function timeoutMsOf({ parameters: { timeout } }: InferRequest): number | null {
  if (timeout === undefined) return null;
  const microseconds = Number(timeout);
  if (typeof timeout !== 'boolean' && Number.isFinite(microseconds) && microseconds >= 0) {
    return microseconds === 0 ? null : microseconds / 1000;
  }
  throw badRequest('`timeout`: expected microseconds.', 'timeout', 'invalid_value');
}
