/** Errors in Anthropic's envelope. */
import type { ApiError, ErrorStatus } from '../errors.ts';
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
  431: 'invalid_request_error',
  500: 'api_error',
  501: 'api_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};

/** Whether `path` belongs to the API whose errors look like this. */
export function isAnthropicPath(path: string): boolean {
  return path === '/v1/messages' || path.startsWith('/v1/messages/');
}

export function toAnthropicEnvelope(error: ApiError, requestId: string | null): JsonObject {
  return {
    type: 'error',
    error: { type: TYPES[error.status], message: error.message },
    request_id: requestId,
  };
}
