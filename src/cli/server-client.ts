/** Asks a running server. */
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import type { ServerAccess } from './flags/client-flags.ts';
import { UsageError } from './usage-error.ts';

/** Time for a server to say that it is there, in milliseconds. */
const ANSWER_MS = 3000;

/** In OpenAI's form or Ollama's. */
const failure = z.object({ error: z.union([z.string(), z.object({ message: z.string() })]) });

/**
 * On Node's own client and not `fetch`, with which a connection that ends before its answer is read
 * ends the process, uncaught: in Node 22 and 24 (undici issue 5360).
 */
export class ServerClient {
  readonly #access: ServerAccess;

  constructor(access: ServerAccess) {
    this.#access = access;
  }

  get url(): string {
    return this.#access.url.href.replace(/\/$/, '');
  }

  /** Whether a server answers. */
  async isThere(): Promise<boolean> {
    try {
      const answer = await this.#send('GET', 'api/version', null, AbortSignal.timeout(ANSWER_MS));
      answer.destroy();
      return answer.statusCode === 200;
    } catch {
      return false;
    }
  }

  /** @throws UsageError with what the server says, or that there is none */
  async get(path: string): Promise<unknown> {
    return JSON.parse(await readAll(await this.#ask('GET', path, null)));
  }

  /** @throws as `get` */
  async post(path: string, body: object): Promise<unknown> {
    return JSON.parse(await readAll(await this.#ask('POST', path, body)));
  }

  /**
   * The lines of an answer, each JSON, as they come.
   * @throws as `get`; the signal's reason on abort
   */
  async *lines(path: string, body: object, signal: AbortSignal): AsyncGenerator<unknown, void> {
    const answer = await this.#ask('POST', path, body, signal);
    let isWhole = false;
    answer.once('end', () => (isWhole = true));
    for await (const line of createInterface({ input: answer })) {
      const value: unknown = JSON.parse(line);
      const failed = failure.safeParse(value);
      if (failed.success) throw new UsageError(messageOf(failed.data));
      yield value;
    }
    signal.throwIfAborted();
    if (!isWhole) throw new UsageError(`${this.url} ended its answer early`);
  }

  /** An answer as it comes. @throws as `get`; the signal's reason on abort */
  stream(path: string, body: object, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#ask('POST', path, body, signal);
  }

  async #ask(
    method: 'GET' | 'POST',
    path: string,
    body: object | null,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    let answer: IncomingMessage;
    try {
      answer = await this.#send(method, path, body, signal);
    } catch (error) {
      signal?.throwIfAborted();
      const reason = error instanceof Error ? error.message || error.name : String(error);
      throw new UsageError(
        `no server answers at ${this.url} (${reason}); \`chairlift serve\` starts one`,
        { cause: error },
      );
    }
    const { statusCode = 0 } = answer;
    if (statusCode === 200) return answer;
    const text = await readAll(answer);
    throw new UsageError(`${this.url} answered ${statusCode}: ${refusalOf(text)}`);
  }

  #send(
    method: 'GET' | 'POST',
    path: string,
    body: object | null,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const { url, apiKey } = this.#access;
    const transport = url.protocol === 'https:' ? https : http;
    const headers = {
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    };
    return new Promise((resolve, reject) => {
      const request = transport.request(
        new URL(path, url),
        { method, headers, ...(signal ? { signal } : {}) },
        resolve,
      );
      request.on('error', reject);
      request.end(body === null ? undefined : JSON.stringify(body));
    });
  }
}

function refusalOf(text: string): string {
  try {
    return messageOf(failure.parse(JSON.parse(text)));
  } catch {
    return text.slice(0, 300);
  }
}

function messageOf({ error }: z.infer<typeof failure>): string {
  return typeof error === 'string' ? error : error.message;
}
