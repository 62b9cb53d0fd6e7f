/** Errors in Anthropic's envelope. */
import { type ApiError, codeIfTooLong, type ErrorStatus, isTooLong } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';

const TYPES: Readonly<Record<ErrorStatus, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  408: 'invalid_request_error',
  409: 'invalid_request_error',
  413: 'request_too_large',
  415: 'invalid_request_error',
  429: 'rate_limit_error',
  414: 'invalid_request_error',
  431: 'invalid_request_error',
  500: 'api_error',
  501: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

export const MESSAGES_PATH = '/v1/messages';

/** Whether `path` belongs to the API whose errors look like this. */
export function isAnthropicPath(path: string): boolean {
  return path === MESSAGES_PATH || path.startsWith(`${MESSAGES_PATH}/`);
}

export function toAnthropicEnvelope(error: ApiError, requestId: string | null): JsonObject {
  return {
    type: 'error',
    error: { type: TYPES[error.status], message: messageOf(error), ...codeIfTooLong(error) },
    request_id: requestId,
  };
}

/** Claude Code makes its conversation shorter once it reads these words. */
function messageOf(error: ApiError): string {
  const isOfPrompt = isTooLong(error) && error.param !== 'max_tokens';
  return isOfPrompt ? `prompt is too long: ${error.message}` : error.message;
}
