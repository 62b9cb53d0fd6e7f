/** Requests to the server that this page is from. */
import { apiKey, askForKey } from './key.ts';

/** What the server says went wrong. */
export class ServerError extends Error {
  override readonly name = 'ServerError';
  /** Of HTTP. */
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
  /** In place of the browser's own. */
  readonly fetch?: typeof fetch;
}

/** @throws ServerError for any answer but a good one, TypeError when there is no connection */
export async function request(path: string, options: RequestOptions = {}): Promise<Response> {
  const { body, signal, fetch: send = fetch } = options;
  const headers = new Headers();
  if (apiKey.value !== '') headers.set('authorization', `Bearer ${apiKey.value}`);
  if (body !== undefined) headers.set('content-type', 'application/json');
  const response = await send(path, {
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.ok) return response;
  const error = await toError(response);
  if (error.status === 401) askForKey('This server wants an API key.');
  throw error;
}

export async function requestJson<T>(path: string, options?: RequestOptions): Promise<T> {
  const response = await request(path, options);
  return (await response.json()) as T;
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
