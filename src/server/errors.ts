/** Errors as clients see them: OpenAI's envelope, the same over HTTP, SSE and WebSocket. */
import { LIMITS } from '../limits.ts';
import { told } from '../told.ts';

/** Body of every error answer. */
export interface ErrorEnvelope {
  readonly error: {
    readonly message: string;
    readonly type: string;
    /** Path of the field at fault, such as `messages.0.role`. */
    readonly param: string | null;
    readonly code: string | null;
  };
}

export type ErrorStatus =
  | 400
  | 401
  | 403
  | 404
  | 405
  | 408
  | 409
  | 413
  | 414
  | 415
  | 429
  | 431
  | 500
  | 501
  | 503
  | 504;

interface ApiErrorOptions {
  readonly param?: string | null;
  readonly code?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error whose message is written for the client. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: ErrorStatus;
  readonly type: string;
  readonly param: string | null;
  readonly code: string | null;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: ErrorStatus, type: string, message: string, options: ApiErrorOptions = {}) {
    // Whatever a message has of a client's: no other place has to think of it.
    super(told(message, LIMITS.errorCharacters));
    this.status = status;
    this.type = type;
    const { param = null } = options;
    this.param = param === null ? null : told(param, LIMITS.shortTextCharacters);
    this.code = options.code ?? null;
    this.headers = options.headers ?? {};
  }

  toEnvelope(): ErrorEnvelope {
    return {
      error: { message: this.message, type: this.type, param: this.param, code: this.code },
    };
  }
}

const TOO_LONG = 'context_length_exceeded';

/** Whether a prompt must be shortened: what agents want to know, to do so. */
export function isTooLong({ code }: ApiError): boolean {
  return code === TOO_LONG;
}

/** For forms of errors that have no codes: the one that agents look for. */
export function codeIfTooLong(error: ApiError): { readonly code?: string } {
  return isTooLong(error) ? { code: TOO_LONG } : {};
}

export function badRequest(
  message: string,
  param: string | null = null,
  code: string | null = null,
): ApiError {
  return new ApiError(400, 'invalid_request_error', message, { param, code });
}

/** @param near names that may have been meant */
export function modelNotFound(model: string, near: readonly string[] = []): ApiError {
  const names = near.map((name) => `\`${name}\``).join(', ');
  const hint = near.length > 0 ? ` There is ${names}.` : '';
  const message = `The model \`${told(model, 200)}\` does not exist.${hint}`;
  return new ApiError(404, 'NotFoundError', message, {
    param: 'model',
    code: 'model_not_found',
  });
}

/** @param near a path that may have been meant */
export function routeNotFound(method: string, path: string, near: string | null = null): ApiError {
  const hint = near === null ? '' : ` Did you mean ${near}?`;
  return new ApiError(404, 'NotFoundError', `There is nothing at ${method} ${path}.${hint}`);
}

export function methodNotAllowed(method: string, path: string, allow: string): ApiError {
  return new ApiError(405, 'invalid_request_error', `${path} takes ${allow}, not ${method}.`, {
    code: 'method_not_allowed',
    headers: { allow },
  });
}

export function unauthorized(message: string): ApiError {
  return new ApiError(401, 'authentication_error', message, {
    code: 'invalid_api_key',
    headers: { 'www-authenticate': 'Bearer' },
  });
}

export function adminOnly(message = 'This needs the admin API key.'): ApiError {
  return new ApiError(403, 'permission_error', message, { code: 'admin_key_required' });
}

export function hostRefused(host: string): ApiError {
  const message = `This server does not answer as ${told(host, 200)}; see --allowed-host.`;
  return new ApiError(403, 'permission_error', message, { code: 'host_not_allowed' });
}

export function originRefused(origin: string): ApiError {
  const page = told(origin, 200);
  const message = `Pages of ${page} may not use this server; to let them, start it with --cors-origin ${page}.`;
  return new ApiError(403, 'permission_error', message, { code: 'origin_not_allowed' });
}

export function bodyTooLarge(limitBytes: number): ApiError {
  return new ApiError(
    413,
    'invalid_request_error',
    `The request body is larger than the limit of ${limitBytes} bytes.`,
    { code: 'request_too_large' },
  );
}

export function unsupportedMediaType(found: string | undefined): ApiError {
  const what = found === undefined ? 'no Content-Type' : `Content-Type \`${found}\``;
  return new ApiError(
    415,
    'invalid_request_error',
    `The request of a web page has ${what}; expected \`application/json\`.`,
    { code: 'unsupported_media_type' },
  );
}

/** Headers for the time of a retry, for all clients: OpenAI's read the last two. */
function retryAfter(ms: number): Readonly<Record<string, string>> {
  return {
    'retry-after': String(Math.max(1, Math.ceil(ms / 1000))),
    'retry-after-ms': String(Math.max(1, Math.ceil(ms))),
    'x-should-retry': 'true',
  };
}

/** @param ms until all of the rate comes back */
export function rateLimited(unit: 'requests' | 'tokens', limit: number, ms: number): ApiError {
  const message = `You have used up your ${limit} ${unit} per minute; try again in ${Math.ceil(ms / 1000)} s.`;
  return new ApiError(429, unit, message, { code: 'rate_limit_exceeded', headers: retryAfter(ms) });
}

/** Error if a client's requests had too many models loaded. @param ms until one more may be loaded */
export function tooManyLoads(limit: number, ms: number): ApiError {
  const message = `Your requests have had ${limit} models loaded within a minute; name one that is loaded, or try again in ${Math.ceil(ms / 1000)} s.`;
  const options = { code: 'too_many_loads', headers: retryAfter(ms) };
  return new ApiError(429, 'rate_limit_error', message, options);
}

export function notCached(): ApiError {
  return new ApiError(504, 'not_cached', 'There is no cached answer to this request.', {
    code: 'not_cached',
  });
}

export function tooManyRequests(retryAfterSeconds: number): ApiError {
  return new ApiError(429, 'rate_limit_error', 'The queue is full; try again later.', {
    code: 'queue_full',
    headers: retryAfter(retryAfterSeconds * 1000),
  });
}

export function tooManyConnections(limit: number): ApiError {
  const message = `Your address has its limit of ${limit} connections open already.`;
  return new ApiError(429, 'rate_limit_error', message, {
    code: 'too_many_connections',
    headers: { 'retry-after': '1' },
  });
}

/** @param where such as `this socket` */
export function tooManyOnSocket(limit: number, where: string): ApiError {
  const message = `More than ${limit} requests at once on ${where}; wait until one is done.`;
  return new ApiError(429, 'rate_limit_error', message, { code: 'too_many_requests_on_socket' });
}

/** @param what they listen to */
export function tooManyListeners(limit: number, what: string): ApiError {
  const message = `${limit} clients listen to ${what} already.`;
  return new ApiError(429, 'rate_limit_error', message, {
    code: 'too_many_listeners',
    headers: { 'retry-after': '5' },
  });
}

export function tooManyPulls(limit: number): ApiError {
  const message = `This model is being downloaded already, or ${limit} others are.`;
  return new ApiError(429, 'rate_limit_error', message, {
    code: 'too_many_pulls',
    headers: { 'retry-after': '30' },
  });
}

/** Over a client's share of the memory for bodies. */
export function tooManyBodies(retryAfterSeconds: number): ApiError {
  const message = 'Too many of your request bodies are being read; send fewer at once.';
  return new ApiError(429, 'rate_limit_error', message, {
    code: 'too_many_bodies',
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}

export function notImplemented(message: string): ApiError {
  return new ApiError(501, 'not_implemented', message, { code: 'not_implemented' });
}

/** Seconds after which a client should try again while the server starts, recovers or drains. */
const UNAVAILABLE_RETRY_SECONDS = 5;

export function unavailable(
  message: string,
  retryAfterSeconds = UNAVAILABLE_RETRY_SECONDS,
  code = 'service_unavailable',
): ApiError {
  return new ApiError(503, 'service_unavailable', message, {
    code,
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}

/** For operators who want to look into a model: the server itself is fine, so it is not a 503. */
export function modelNotLoaded(): ApiError {
  return new ApiError(409, 'invalid_request_error', 'The model is not loaded.', {
    param: 'model',
    code: 'model_not_loaded',
    // Clients try again after a 409 otherwise.
    headers: { 'x-should-retry': 'false' },
  });
}

/** For what is not an HTTP request, or did not arrive in time. @param code of Node's error */
export function notARequest(code: string | undefined): ApiError {
  const type = 'invalid_request_error';
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new ApiError(408, type, 'The request took too long to arrive.', {
      code: 'receive_timeout',
    });
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new ApiError(431, type, 'The header is too large.', { code: 'header_too_large' });
  }
  return badRequest('This is not a valid HTTP request.', null, 'invalid_http');
}

export function requestTimedOut(): ApiError {
  return new ApiError(504, 'timeout_error', 'The request took longer than its timeout.', {
    code: 'request_timeout',
  });
}

/** Error of a request that DELETE /v1/requests ended. */
export function requestAborted(): ApiError {
  return new ApiError(409, 'request_aborted', 'The request was ended by DELETE /v1/requests.', {
    code: 'request_aborted',
    // Clients try again after a 409 otherwise.
    headers: { 'x-should-retry': 'false' },
  });
}

/** The answer that a client wants to go on with was made by another model, or for another prompt. */
export function cannotResume(reason: string): ApiError {
  return new ApiError(409, 'cannot_resume', `The answer can't be continued here. ${reason}`, {
    code: 'cannot_resume',
    headers: { 'x-should-retry': 'false' },
  });
}

export function internalError(message = 'The server hit an internal error.'): ApiError {
  return new ApiError(500, 'server_error', message, { code: 'internal_error' });
}
