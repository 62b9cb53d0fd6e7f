/** Turns whatever was thrown into what a client may see. */
import type { Logger } from 'pino';
import { TensorError } from '../encoder/tensors/signature.ts';
import { AudioError } from '../audio/audio-error.ts';
import { ImageError } from '../images/image-error.ts';
import { RunError } from '../front/encoder-process/encoder-client.ts';
import { EncoderInputError } from '../front/embedding/embed-request.ts';
import { TextTooLongError } from '../front/embedding/encoder-tokenizer.ts';
import { BatchTimeoutError } from '../front/batching/batcher-options.ts';
import { InvalidRequestError } from '../front/invalid-request.ts';
import { NotCachedError } from '../front/not-cached-error.ts';
import { QueueFullError, ShuttingDownError } from '../front/queue/admission.ts';
import {
  ModelControlError,
  ModelUnavailableError,
  UnknownModelError,
} from '../front/registry/errors.ts';
import { TaskTooCostlyError } from '../front/prompts/fair-pool.ts';
import {
  EngineError,
  EngineUnavailableError,
  GrammarFaultError,
  SlowReaderError,
} from '../front/engine-process/errors.ts';
import { isTimeout } from '../front/deadline.ts';
import {
  ApiError,
  badRequest,
  internalError,
  modelNotFound,
  notCached,
  requestTimedOut,
  tooManyRequests,
  unavailable,
} from './errors.ts';
import { told } from '../told.ts';

/** Characters of what ONNX Runtime says that a client is told. */
const LONGEST_REASON = 300;

/**
 * The error a client gets for `error`. An error that was not written for clients is logged in full
 * and answered in general words, so that no path or stack leaves the server.
 */
export function toApiError(error: unknown, logger: Logger): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof InvalidRequestError) {
    return badRequest(error.message, error.field, error.code);
  }
  if (error instanceof NotCachedError) return notCached();
  if (error instanceof UnknownModelError) return modelNotFound(error.model, error.near);
  if (error instanceof ModelControlError) return badRequest(error.message, null, 'model_control');
  if (error instanceof ModelUnavailableError) {
    return unavailable(error.message, error.retryAfterSeconds, error.code);
  }
  if (error instanceof EncoderInputError) return badRequest(sentence(error.message));
  if (error instanceof TensorError) return badRequest(sentence(error.message), 'inputs');
  if (error instanceof ImageError) {
    return badRequest(`The image can't be read: ${error.message}.`, null, 'invalid_image');
  }
  if (error instanceof AudioError) {
    return badRequest(`The sound can't be read: ${error.message}.`, 'file', 'invalid_audio');
  }
  if (error instanceof RunError) {
    const reason = told(error.message, LONGEST_REASON);
    return badRequest(`The model can't compute this: ${reason}.`, 'inputs', 'invalid_value');
  }
  if (error instanceof TextTooLongError) {
    return badRequest(sentence(error.message), null, 'context_length_exceeded');
  }
  if (error instanceof BatchTimeoutError) return requestTimedOut();
  if (error instanceof QueueFullError) return tooManyRequests(error.retryAfterSeconds);
  if (error instanceof TaskTooCostlyError) {
    return badRequest(`To render and tokenize the prompt ${error.message}.`, null, 'too_costly');
  }
  if (error instanceof EngineUnavailableError) {
    return unavailable('The engine is not available.', error.retryAfterSeconds);
  }
  if (error instanceof GrammarFaultError) {
    return badRequest(
      `The output could not be finished: ${error.message}.`,
      null,
      'grammar_failed',
    );
  }
  if (isTimeout(error)) return requestTimedOut();
  if (error instanceof SlowReaderError) {
    return new ApiError(408, 'invalid_request_error', 'The answer was read too slowly.', {
      code: 'slow_reader',
    });
  }
  if (error instanceof ShuttingDownError) return unavailable('The server is shutting down.');
  logger.error({ err: error }, 'request failed');
  if (error instanceof EngineError) {
    return internalError('The engine could not finish this request.');
  }
  return internalError();
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
