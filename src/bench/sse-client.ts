import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { text as readAll } from 'node:stream/consumers';
import { readEventData } from './event-data.ts';
import type { RequestRecord, RequestRecorder } from './recorder.ts';
import { parseChunk } from './stream-chunk.ts';
import { reasonOf } from '../files/system-error.ts';
import { told } from '../told.ts';

/** Characters of a refusal that a report shows. */
const MAX_REFUSAL = 300;

export interface SseClientOptions {
  /** Where to POST. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** A request that takes longer than this has failed. */
  readonly timeoutMs: number;
}

/**
 * Streams completions over connections that are kept open. On Node's own client, without the web
 * streams of fetch in between: a load tester on the server's machine has no processor time to spare.
 */
export class SseClient {
  readonly #options: SseClientOptions;
  readonly #transport: typeof http | typeof https;
  readonly #agent: http.Agent;

  constructor(options: SseClientOptions) {
    this.#options = options;
    this.#transport = options.url.protocol === 'https:' ? https : http;
    this.#agent = new this.#transport.Agent({ keepAlive: true });
  }

  /** Sends one request and follows its answer to the end. A failure is part of the record. */
  async stream(body: object, recorder: RequestRecorder): Promise<RequestRecord> {
    const signal = AbortSignal.timeout(this.#options.timeoutMs);
    try {
      const response = await this.#post(JSON.stringify(body), signal);
      return recorder.end(await follow(response, recorder));
    } catch (error) {
      if (signal.aborted) return recorder.end(`no end after ${this.#options.timeoutMs / 1000} s`);
      return recorder.end(reasonOf(error));
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #post(payload: string, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(payload),
      ...this.#options.headers,
    };
    const { url } = this.#options;
    return new Promise((resolve, reject) => {
      const request = this.#transport.request(
        url,
        { agent: this.#agent, method: 'POST', headers, signal },
        resolve,
      );
      request.on('error', (error: NodeJS.ErrnoException) => {
        // The server closed an idle connection just as we took it up again.
        const isStale = request.reusedSocket && error.code === 'ECONNRESET';
        if (isStale) resolve(this.#post(payload, signal));
        else reject(error);
      });
      request.end(payload);
    });
  }
}

/** Reads an answer to its end; resolves to why it failed, or null. */
async function follow(
  response: IncomingMessage,
  recorder: RequestRecorder,
): Promise<string | null> {
  if (response.statusCode !== 200) return refusal(response);
  let error: string | null = null;
  let isWhole = false;
  await readEventData(response, (data) => {
    if (data === '[DONE]') {
      isWhole = true;
      return;
    }
    const chunk = parseChunk(data);
    if (chunk.hasContent) recorder.chunk();
    if (chunk.usage) recorder.usage(chunk.usage);
    isWhole ||= chunk.isLast;
    error ??= chunk.error;
  });
  return error ?? (isWhole ? null : 'the answer broke off');
}

async function refusal(response: IncomingMessage): Promise<string> {
  const body = (await readAll(response)).trim();
  return `HTTP ${response.statusCode}: ${told(messageIn(body), MAX_REFUSAL)}`;
}

/** The message of an OpenAI error envelope, otherwise the whole body. */
function messageIn(body: string): string {
  try {
    return parseChunk(body).error ?? body;
  } catch {
    return body;
  }
}
