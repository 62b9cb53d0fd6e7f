/** Asks a running server. */
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { createInterface } from 'node:readline';
import { text as readAll } from 'node:stream/consumers';
import { z } from 'zod';
import { socketPathOf } from '../../net/unix-address.ts';
import { UserError } from '../../user-error.ts';
import type { ServerAccess } from './server-access.ts';
import { told } from '../../told.ts';

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
    const { url } = this.#access;
    const socketPath = socketPathOf(url);
    return socketPath === null ? url.href.replace(/\/$/, '') : `unix:${socketPath}`;
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

  /** @throws UserError with what the server says, that there is none, or that it is another program */
  async get<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    return this.parse(await this.#text(await this.#ask('GET', path, null)), schema);
  }

  /** @throws as `get` */
  async post(path: string, body: object): Promise<void> {
    this.parse(await this.#text(await this.#ask('POST', path, body)), z.unknown());
  }

  /**
   * The lines of an answer, each JSON, as they come.
   * @throws as `get`; the signal's reason on abort
   */
  async *lines<T>(
    path: string,
    body: object,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): AsyncGenerator<T, void> {
    const answer = await this.#ask('POST', path, body, signal);
    let isWhole = false;
    answer.once('end', () => (isWhole = true));
    try {
      for await (const line of createInterface({ input: answer })) {
        const failed = failure.safeParse(this.parse(line, z.unknown()));
        if (failed.success) throw new UserError(messageOf(failed.data));
        yield this.parse(line, schema);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw this.#whileReading(error);
    }
    signal.throwIfAborted();
    if (!isWhole) throw this.#whileReading();
  }

  /** @throws UserError for what Chairlift does not answer */
  parse<T>(text: string, schema: z.ZodType<T>): T {
    try {
      return schema.parse(JSON.parse(text));
    } catch (error) {
      throw new UserError(`${this.url} did not answer as Chairlift does: is it another program?`, {
        cause: error,
      });
    }
  }

  /** Runs what reads an answer. @throws UserError where the connection ends early */
  async reading<T>(read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      throw this.#whileReading(error);
    }
  }

  #whileReading(cause?: unknown): UserError {
    if (cause instanceof UserError) return cause;
    return new UserError(`${this.url} ended its answer early`, { cause });
  }

  /** An answer as it comes. @throws as `get`; the signal's reason on abort */
  stream(path: string, body: object, signal: AbortSignal): Promise<IncomingMessage> {
    return this.#ask('POST', path, body, signal);
  }

  #text(answer: IncomingMessage): Promise<string> {
    return this.reading(() => readAll(answer));
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
      throw new UserError(
        `no server answers at ${this.url} (${reason}); \`chairlift serve\` starts one`,
        { cause: error },
      );
    }
    const { statusCode = 0 } = answer;
    if (statusCode === 200) return answer;
    const text = await this.#text(answer);
    throw new UserError(`${this.url} answered ${statusCode}: ${refusalOf(text)}`);
  }

  #send(
    method: 'GET' | 'POST',
    path: string,
    body: object | null,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> {
    const { url, apiKey } = this.#access;
    const socketPath = socketPathOf(url);
    const transport = url.protocol === 'https:' ? https : http;
    const headers = {
      ...(body === null ? {} : { 'content-type': 'application/json' }),
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    };
    return new Promise((resolve, reject) => {
      const request = transport.request(
        new URL(path, socketPath === null ? url : 'http://localhost/'),
        {
          ...(socketPath === null ? {} : { socketPath }),
          method,
          headers,
          ...(signal ? { signal } : {}),
        },
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
    return told(text, 300);
  }
}

function messageOf({ error }: z.infer<typeof failure>): string {
  return typeof error === 'string' ? error : error.message;
}
