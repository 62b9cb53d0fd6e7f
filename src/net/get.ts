import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';

import { MODEL_LIMITS } from '../model-limits.ts';

const MAX_REDIRECTS = 10;

/** Statuses of answers that lead on. */
export const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** No answer came about: no such host, no connection, or it broke. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

export interface Answer {
  readonly status: number;
  /** To be read, or destroyed. */
  readonly body: IncomingMessage;
}

/**
 * Sends a GET and follows redirects, from https to https only; `authorization` goes to the first
 * address' origin only.
 *
 * Not `fetch`: in Node 22 and 24 a connection that ends before its answer is read ends the process
 * with an uncaught error (undici issue 5360).
 * @param silenceMs a connection without a byte for this long counts as dead
 * @throws {ConnectionError}
 */
export async function get(
  url: URL,
  headers: Readonly<Record<string, string>> = {},
  silenceMs = 60_000,
): Promise<Answer> {
  const { authorization: _, ...others } = headers;
  let at = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const body = await send(at, at.origin === url.origin ? headers : others, silenceMs);
    const { statusCode: status = 0 } = body;
    const { location } = body.headers;
    if (!REDIRECTS.has(status) || location === undefined) return { status, body };
    body.destroy();
    at = redirected(location, at);
  }
  throw new ConnectionError(`${url.href} redirects too many times`);
}

/**
 * Sends a HEAD. @returns the status of the answer, wherever it leads
 * @throws {ConnectionError}
 */
export async function head(url: URL, silenceMs: number): Promise<number> {
  const answer = await send(url, {}, silenceMs, 'HEAD');
  answer.destroy();
  return answer.statusCode ?? 0;
}

/** @throws Error when the answer is longer or no JSON; whatever breaks its connection */
export async function readJsonAnswer(
  answer: Answer,
  maxBytes: number = MODEL_LIMITS.jsonAnswerBytes,
): Promise<unknown> {
  return JSON.parse(await readTextAnswer(answer, maxBytes));
}

/** @throws Error when the answer is longer; whatever breaks its connection */
export async function readTextAnswer({ body }: Answer, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early ends the connection.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/**
 * Where an answer sends us on to. Not out of TLS: what comes then may be anybody's.
 * @throws {ConnectionError} for a redirect to an address that is not allowed
 */
export function redirected(location: string, from: URL): URL {
  const to = URL.canParse(location, from.href) ? new URL(location, from) : null;
  if (to?.protocol === 'https:' || (to?.protocol === 'http:' && from.protocol === 'http:')) {
    return to;
  }
  throw new ConnectionError(`${from.host} redirects to an address that is not allowed`);
}

/** A request that is sent once, wherever its answer leads. */
export interface Ask {
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A connection without a byte for this long counts as dead; a minute if left out. */
  readonly silenceMs?: number;
}

/**
 * Sends a request, and follows no redirect: for one that is signed, or that shows who we are.
 * @throws {ConnectionError}
 */
export async function askOnce(url: URL, ask: Ask): Promise<Answer> {
  const { method = 'GET', headers = {}, body: content, silenceMs = 60_000 } = ask;
  const body = await send(url, headers, silenceMs, method, content);
  return { status: body.statusCode ?? 0, body };
}

function send(
  url: URL,
  headers: Readonly<Record<string, string>>,
  timeout: number,
  method = 'GET',
  content?: string,
): Promise<IncomingMessage> {
  const { request: open } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const named = { 'user-agent': 'chairlift', ...headers };
    const request = open(url, { method, headers: named, timeout }, resolve);
    request.on('timeout', () => request.destroy(new Error('the connection is silent')));
    request.on('error', (cause: NodeJS.ErrnoException) => {
      // Where a name has several addresses, the message is empty.
      reject(new ConnectionError(cause.message || String(cause.code), { cause }));
    });
    request.end(content);
  });
}
