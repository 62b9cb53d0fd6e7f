/** Turns whatever was thrown into what a client may see. */
import type { Logger } from 'pino';
import { QueueFullError, ShuttingDownError } from '../front/admission.ts';
import { EngineError } from '../front/engine.ts';
import { ApiError, internalError, tooManyRequests, unavailable } from './errors.ts';

/**
 * The error a client gets for `error`. What was not written for clients is logged in full and
 * answered in general words, so that no path or stack leaves the server.
 */
export function toApiError(error: unknown, logger: Logger): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof QueueFullError) return tooManyRequests(error.retryAfterSeconds);
  if (error instanceof ShuttingDownError) return unavailable('The server is shutting down.');
  logger.error({ err: error }, 'request failed');
  if (error instanceof EngineError) {
    return internalError('The engine could not finish this request.');
  }
  return internalError();
}
