/** Requests to the server that this page is from. */
import { watchedFetch } from './connection.ts';
import { ROOT } from '../root.ts';
import { anotherKey, apiKey } from './key.ts';

/** Error that the server tells. */
export class ServerError extends Error {
  override readonly name = 'ServerError';
  /** Status of HTTP. */
  readonly status: number;
  readonly code: string | null;

  constructor(message: string, status: number, code: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export interface RequestOptions {
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent by the page itself, again and again. */
  readonly isBackground?: boolean;
  /** In place of the browser's own. */
  readonly fetch?: typeof fetch;
}

/**
 * A request that is refused for want of a key, or for a wrong one, waits until the user has given
 * another one, and is sent again.
 * @throws ServerError for any answer but a good one, TypeError when there is no connection
 */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  for (;;) {
    const key = apiKey.peek();
    const response = await send(path, key, options);
    if (response.ok) return response;
    const error = await toError(response);
    if (error.status !== 401) throw error;
    if (!(await anotherKey(key, options.signal, options.isBackground ?? false))) throw error;
  }
}

export async function requestJson<T>(path: string, options?: RequestOptions): Promise<T> {
  const response = await request(path, options);
  return (await response.json()) as T;
}

function send(path: string, key: string, options: RequestOptions): Promise<Response> {
  const { body, signal, fetch: sendBy = watchedFetch } = options;
  const headers = new Headers(options.headers);
  if (key !== '') headers.set('authorization', `Bearer ${key}`);
  if (body !== undefined) headers.set('content-type', 'application/json');
  return sendBy(ROOT + path, {
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

async function toError(response: Response): Promise<ServerError> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as {
      error: string | { message: string; code?: string | null };
    };
    if (typeof error === 'string') return new ServerError(error, response.status);
    return new ServerError(error.message, response.status, error.code);
  } catch {
    return new ServerError(`${response.status} ${response.statusText}`, response.status);
  }
}
