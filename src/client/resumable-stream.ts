/**
 * Streams that survive their server. `resumableStream()` is a `fetch` for any client of OpenAI's or
 * Anthropic's APIs:
 *
 *   const client = new OpenAI({ baseURL, apiKey, fetch: resumableStream() });
 *
 * When the connection of a streamed answer breaks, it asks the same address again, where a load
 * balancer has other replicas, and the stream goes on without a gap or a repeat. It needs servers with
 * `--resume-key`; with others it changes nothing. For Node.js, Deno, Bun and browsers, without
 * dependencies.
 */

/** Has what a replica needs to go on with an answer. */
const TOKEN_HEADER = 'x-resume-token';

/** Nothing follows it. */
const LAST_EVENT =
  /^(data: (\[DONE\]|\{"error")|event: (message_stop|response\.(completed|incomplete|failed)|error)$)/m;

export interface ResumableStreamOptions {
  /** The `fetch` to use. */
  readonly fetch?: typeof fetch;
  /** How often in a row a stream is asked for again before it fails; 8 if left out. */
  readonly attempts?: number;
  /** Milliseconds before the second attempt, doubled before each further one; 100 if left out. */
  readonly backoffMs?: number;
  /** Most milliseconds between two attempts; no limit if left out. */
  readonly maxBackoffMs?: number;
  /** Called whenever a stream goes on, with the milliseconds that it was interrupted. */
  readonly onResume?: (gapMs: number) => void;
}

/** @returns a `fetch` whose streamed answers go on after their server is gone */
export function resumableStream(options: ResumableStreamOptions = {}): typeof fetch {
  const send = options.fetch ?? globalThis.fetch;
  return async (input, init) => {
    const answer = await send(input, init);
    const token = answer.headers.get(TOKEN_HEADER);
    const body = init?.body;
    if (token === null || answer.body === null || typeof body !== 'string') return answer;
    const again = (json: string) => send(input, { ...init, body: json });
    const stream = new ResumableBody(again, body, token, answer.body, options);
    return new Response(stream.readable(), answer);
  };
}

class ResumableBody {
  readonly #again: (json: string) => Promise<Response>;
  readonly #body: string;
  readonly #token: string;
  readonly #attempts: number;
  readonly #backoffMs: number;
  readonly #maxBackoffMs: number;
  readonly #onResume: (gapMs: number) => void;
  readonly #progress = new Progress();
  #source: ReadableStreamDefaultReader<Uint8Array>;
  /** Decoder of an event that is not complete yet. */
  #decoder = new TextDecoder();
  #text = '';
  #isCancelled = false;

  constructor(
    again: (json: string) => Promise<Response>,
    body: string,
    token: string,
    source: ReadableStream<Uint8Array>,
    options: ResumableStreamOptions,
  ) {
    const { attempts = 8, backoffMs = 100, maxBackoffMs = Infinity } = options;
    const { onResume = () => {} } = options;
    this.#again = again;
    this.#body = body;
    this.#token = token;
    this.#attempts = attempts;
    this.#backoffMs = backoffMs;
    this.#maxBackoffMs = maxBackoffMs;
    this.#onResume = onResume;
    this.#source = source.getReader();
  }

  readable(): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder();
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        try {
          const text = await this.#next();
          if (text === null) controller.close();
          else controller.enqueue(encoder.encode(text));
        } catch (error) {
          controller.error(error);
        }
      },
      cancel: async (reason) => {
        this.#isCancelled = true;
        await this.#source.cancel(reason);
      },
    });
  }

  /** Whole events; null at the end. */
  async #next(): Promise<string | null> {
    if (this.#progress.isDone) return null;
    for (;;) {
      const piece = await this.#read();
      if (piece === null) await this.#resume();
      else this.#text += this.#decoder.decode(piece, { stream: true });
      const end = this.#progress.take(this.#text);
      if (end === 0) continue;
      const events = this.#text.slice(0, end);
      this.#text = this.#text.slice(end);
      return events;
    }
  }

  /** Null when the connection has ended, however it did. */
  async #read(): Promise<Uint8Array | null> {
    try {
      const { done, value } = await this.#source.read();
      return done ? null : value;
    } catch (error) {
      if (this.#isCancelled || isAbort(error)) throw error;
      return null;
    }
  }

  /** @throws when no server goes on */
  async #resume(): Promise<void> {
    const begun = performance.now();
    // Events that had no id yet come again.
    this.#text = '';
    this.#decoder = new TextDecoder();
    let failure: unknown;
    for (let attempt = 0; attempt < this.#attempts && !this.#isCancelled; attempt++) {
      const backoffMs = this.#backoffMs * 2 ** (attempt - 1);
      if (attempt > 0) await sleep(Math.min(this.#maxBackoffMs, backoffMs));
      try {
        const answer = await this.#again(this.#resumingBody());
        if (answer.ok && answer.body !== null) {
          this.#source = answer.body.getReader();
          this.#onResume(performance.now() - begun);
          return;
        }
        failure = new Error(`the stream can't go on: ${answer.status} ${await answer.text()}`);
        if (!isWorthAnother(answer.status)) break;
      } catch (error) {
        if (isAbort(error)) throw error;
        failure = error;
      }
    }
    throw failure;
  }

  #resumingBody(): string {
    const { counts, events, tokens } = this.#progress;
    // Edited as text: a seed may have more digits than a number can hold.
    const end = this.#body.lastIndexOf('}');
    const resume = JSON.stringify({ token: this.#token, counts, events, tokens });
    return `${this.#body.slice(0, end)},"resume":${resume}}`;
  }
}

/** How far a stream has come, by its events' ids. */
class Progress {
  /** Tokens of each choice; none before the first id. */
  counts: number[] = [];
  /** Number of events, for an API that numbers them. */
  events = 0;
  readonly tokens: number[][] = [];
  isDone = false;

  /**
   * Takes the events of `text` up to the last that has an id: those after it belong to one that has
   * not arrived.
   * @returns where they end
   */
  take(text: string): number {
    let taken = 0;
    for (let start = 0, end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n', start)) {
      const event = text.slice(start, end);
      start = end + 2;
      const id = /^id: (.*)$/m.exec(event)?.[1];
      if (id !== undefined) this.#advance(id);
      this.isDone ||= LAST_EVENT.test(event);
      if (id !== undefined || this.isDone || event.startsWith(':')) taken = start;
    }
    return taken;
  }

  /** `12,5;e17;0:1a.3f`: tokens of each choice, how many numbered events, the tokens that came last. */
  #advance(id: string): void {
    const [counts = '', ...added] = id.split(';');
    this.counts = counts.split(',').map(Number);
    for (const choice of this.counts.keys()) this.tokens[choice] ??= [];
    for (const choiceTokens of added) {
      if (choiceTokens.startsWith('e')) {
        this.events = Number(choiceTokens.slice(1));
        continue;
      }
      const [choice = '', tokenIds = ''] = choiceTokens.split(':');
      const known = (this.tokens[Number(choice)] ??= []);
      for (const tokenId of tokenIds.split('.')) known.push(Number.parseInt(tokenId, 36));
    }
  }
}

/**
 * Whether to try another server: this one is busy, starting or gone, or has another version of the
 * model.
 */
function isWorthAnother(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
