/** An answer over HTTP that another replica can take up: after a crash, or while this one shuts down. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { badRequest } from '../errors.ts';
import type { Handover } from './handover.ts';
import { ResumableAnswer } from './resumable-answer.ts';
import { splitBody } from './resume-body.ts';
import type { ResumeKey } from './resume-key.ts';

/** Has what a client needs to have its answer taken up. */
export const RESUME_TOKEN_HEADER = 'x-resume-token';

/** What a server needs for answers that outlive it. */
export interface Resumption {
  readonly key: ResumeKey;
  /** Null where there is nobody to hand answers over to. */
  readonly handover: Handover | null;
}

export interface AnsweredRequest {
  /** Of its API. */
  readonly path: string;
  readonly client: string;
  readonly json: unknown;
}

export class MovableAnswer {
  /** The request, with the seed that was drawn for it if it has none. */
  readonly json: object;
  readonly answer: ResumableAnswer;
  readonly #path: string;
  readonly #client: string;
  readonly #handover: Handover | null;
  #rest: IncomingMessage | null = null;

  /**
   * @returns null where the server has no key for it
   * @throws ApiError 400
   */
  static of(
    resumption: Resumption | null,
    request: AnsweredRequest,
    headers: IncomingHttpHeaders,
  ): MovableAnswer | null {
    const { json, resume } = splitBody(request.json, headers);
    if (resumption === null && resume !== null) {
      const message = 'This server takes up no answers; see --resume-key.';
      throw badRequest(message, 'resume', 'no_resume_key');
    }
    // What is no object its API refuses.
    if (resumption === null || typeof json !== 'object' || json === null) return null;
    const { path, client } = request;
    const answer = new ResumableAnswer(resumption.key, path, client, resume);
    return new MovableAnswer(resumption, { path, client, json }, answer);
  }

  private constructor(
    { handover }: Resumption,
    { path, client, json }: AnsweredRequest & { readonly json: object },
    answer: ResumableAnswer,
  ) {
    this.json = withSeed(json, answer);
    this.answer = answer;
    this.#path = path;
    this.#client = client;
    this.#handover = handover;
  }

  /** What comes from another replica after the end of `stream`, if one has taken the answer up. */
  get rest(): IncomingMessage | null {
    return this.#rest;
  }

  /** `batches`, until the server shuts down and another replica has taken the answer up. */
  async *stream<T>(batches: AsyncIterable<T>): AsyncGenerator<T, void> {
    const handover = this.answer.canBeTold ? this.#handover : null;
    const source = batches[Symbol.asyncIterator]();
    let mayMove = handover !== null;
    try {
      for (;;) {
        const next = source.next();
        let result = mayMove && handover ? await handover.orBegun(next) : await next;
        if (result === null) {
          mayMove = false;
          this.#rest = await this.#move(true);
          if (this.#rest !== null) return;
          result = await next;
        }
        if (result.done === true) return;
        yield result.value;
      }
    } finally {
      await source.return?.();
    }
  }

  /**
   * What `run` gives, or the text that another replica answers if the server shuts down meanwhile.
   * @param run stops when its signal aborts
   */
  async whole<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T | string> {
    const moved = new AbortController();
    const own = run(moved.signal);
    const result = this.#handover ? await this.#handover.orBegun(own) : await own;
    if (result !== null) return result;
    const rest = await this.#move(false);
    if (rest === null) return own;
    own.catch(() => {});
    moved.abort(new Error('the answer goes on elsewhere'));
    return text(rest);
  }

  async #move(areTold: boolean): Promise<IncomingMessage | null> {
    const { json, answer } = this;
    const request = { path: this.#path, client: this.#client, json, answer };
    return (await this.#handover?.send(request, areTold)) ?? null;
  }
}

/** -1 is vLLM's word for no seed. */
function withSeed(json: object, answer: ResumableAnswer): object {
  const { seed }: { readonly seed?: unknown } = json;
  const isNone = seed === undefined || seed === null || seed === -1;
  return isNone ? { ...json, seed: answer.seed } : json;
}
