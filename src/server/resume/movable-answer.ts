/** An answer that another replica can take up: after a crash, or while this one shuts down. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Caller } from '../../front/caller.ts';
import { badRequest } from '../errors.ts';
import type { Handover, MovingRequest } from './handover.ts';
import { ResumableAnswer } from './resumable-answer.ts';
import { splitBody } from './resume-body.ts';
import type { ResumeKey } from './resume-key.ts';

/** Has what a client needs to have its answer taken up. */
export const RESUME_TOKEN_HEADER = 'x-resume-token';

/** Services for answers that outlive their server. */
export interface Resumption {
  readonly key: ResumeKey;
  /** Null if no other replicas are configured. */
  readonly handover: Handover | null;
}

export interface AnsweredRequest {
  /** Path of its API. */
  readonly path: string;
  readonly json: unknown;
}

export class MovableAnswer {
  /** The request, without what it says of an answer that was begun. */
  readonly json: object;
  /** Caller, with all that a generation needs to know of this answer. */
  readonly caller: Caller;
  readonly #answer: ResumableAnswer;
  readonly #path: string;
  readonly #handover: Handover | null;
  readonly #moved = new AbortController();
  #rest: IncomingMessage | null = null;

  /**
   * @returns null where the server has no key for it
   * @throws ApiError 400
   */
  static of(
    resumption: Resumption | null,
    request: AnsweredRequest,
    headers: IncomingHttpHeaders,
    caller: Caller,
  ): MovableAnswer | null {
    const { json, resume } = splitBody(request.json, headers);
    if (resumption === null && resume !== null) {
      const message = 'This server takes up no answers; see --resume-key.';
      throw badRequest(message, 'resume', 'no_resume_key');
    }
    // The API itself refuses a body that is not an object.
    if (resumption === null || typeof json !== 'object' || json === null) return null;
    const { path } = request;
    const answer = new ResumableAnswer(resumption.key, path, caller.client, resume);
    return new MovableAnswer(resumption, path, json, answer, caller);
  }

  private constructor(
    { handover }: Resumption,
    path: string,
    json: object,
    answer: ResumableAnswer,
    caller: Caller,
  ) {
    this.json = json;
    this.#answer = answer;
    this.#path = path;
    this.#handover = handover;
    const signal = AbortSignal.any([caller.signal, this.#moved.signal]);
    this.caller = { ...caller, answer, signal };
  }

  /** Whether it was begun elsewhere. */
  get isResumed(): boolean {
    return this.#answer.isResumed;
  }

  /**
   * Token for a client to have the answer resumed; null if its events have no ids. Not before its
   * start.
   */
  get token(): string | null {
    return this.#answer.canBeTold ? this.#answer.token : null;
  }

  /** See ResumableAnswer. */
  takeEventId(): string | null {
    return this.#answer.takeEventId();
  }

  /** Rest of the answer after the end of `stream`, from another replica if one has resumed it. */
  get rest(): IncomingMessage | null {
    return this.#rest;
  }

  /** `batches`, until the server shuts down and another replica has taken the answer up. */
  async *stream<T>(batches: AsyncIterable<T>): AsyncGenerator<T, void> {
    const handover = this.#answer.canBeTold ? this.#handover : null;
    const source = batches[Symbol.asyncIterator]();
    let mayMove = handover !== null;
    try {
      for (;;) {
        const next = source.next();
        let result = mayMove && handover ? await handover.orBegun(next) : await next;
        if (result === null) {
          mayMove = false;
          this.#rest = await this.#move(true, next);
          if (this.#rest !== null) return;
          result = await next;
        }
        if (result.done === true) return;
        yield result.value;
      }
    } finally {
      const ended = source.return?.();
      // One that has moved ends by its signal: nobody waits for its next token.
      if (this.#rest === null) await ended;
      else ended?.catch(() => {});
    }
  }

  /**
   * Result of `run`, or the text that another replica answers if the server shuts down meanwhile.
   * @param run stops when the caller's signal aborts
   */
  async whole<T>(run: () => Promise<T>): Promise<T | string> {
    const own = run();
    const result = this.#handover ? await this.#handover.orBegun(own) : await own;
    if (result !== null) return result;
    const rest = await this.#move(false, own);
    return rest === null ? own : text(rest);
  }

  /** Has another replica answer, before anything was done here. @returns null when none does */
  async forward(): Promise<IncomingMessage | null> {
    return (await this.#handover?.forward(this.#request(false))) ?? null;
  }

  /** @param own what is at work here, which ends if another replica goes on */
  async #move(areTold: boolean, own: Promise<unknown>): Promise<IncomingMessage | null> {
    const rest = (await this.#handover?.move(this.#request(areTold))) ?? null;
    if (rest === null) return null;
    own.catch(() => {});
    this.#moved.abort(new Error('the answer goes on elsewhere'));
    return rest;
  }

  #request(areTold: boolean): MovingRequest {
    const resume = this.#answer.resumeBody(areTold);
    return { path: this.#path, client: this.caller.client, json: this.json, resume };
  }
}
