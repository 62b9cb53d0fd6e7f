/** Reads a JSON request body, bounded, straight from Node's request. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { guarded } from '../../guarded.ts';
import { LIMITS } from '../../limits.ts';
import { LoopTurns } from '../../loop-turns.ts';
import { BodyBudget } from './body-budget.ts';
import { isFromPage } from './from-page.ts';
import { ApiError, badRequest, bodyTooLarge, unsupportedMediaType } from '../errors.ts';
import { JsonText, parseScanned } from './json-text.ts';

/** Pieces of fewer bytes are counted. */
export const SMALL_PIECE_BYTES = 64;

/** Reads the bodies of all requests. */
export class BodyReader {
  readonly #limitBytes: number;
  /** Shared with what arrives in other ways than as a body. */
  readonly budget: BodyBudget;
  readonly #turns = new LoopTurns(LIMITS.requestsPerTurn);

  /** @param limitBytes holds for bodies with a Content-Length and for chunked ones */
  constructor(limitBytes: number, budget: BodyBudget = new BodyBudget()) {
    this.#limitBytes = limitBytes;
    this.budget = budget;
  }

  /**
   * The parsed JSON body of `incoming`, whatever media type it is sent as: curl, LiteLLM and Triton's
   * clients name another one, or none.
   * @param client who is charged for it meanwhile
   * @throws ApiError 415 for another media type from a web page, 413 past the limit, 429 or 503 when
   *   too much is being read at once, 400 for what is not JSON, or too large a piece of it.
   */
  async read(incoming: IncomingMessage, client: string): Promise<unknown> {
    requireJsonOfPages(incoming.headers);
    const text = new JsonText();
    return this.#receive(
      incoming,
      client,
      (piece) => text.push(piece),
      () => this.#parse(text, client),
    );
  }

  /**
   * A body that is JSON at first, and then other bytes.
   * @param jsonBytes null for all of it
   * @returns undefined as the JSON where there is none
   * @throws as `read`
   */
  async readWithTail(
    incoming: IncomingMessage,
    client: string,
    jsonBytes: number | null,
  ): Promise<{ readonly json: unknown; readonly tail: Uint8Array }> {
    requireJsonOfPages(incoming.headers);
    const text = new JsonText();
    const rest: Buffer[] = [];
    let left = jsonBytes ?? Infinity;
    const push = (piece: Buffer): void => {
      if (left > 0) text.push(piece.subarray(0, left));
      if (piece.length > left) rest.push(piece.subarray(left));
      left = Math.max(0, left - piece.length);
    };
    return this.#receive(incoming, client, push, async () => {
      if (jsonBytes !== null && left > 0) {
        throw badRequest('The body ends before its JSON does.', null, 'invalid_json');
      }
      const tail = Buffer.concat(rest);
      return { json: text.isEmpty ? undefined : await this.#parse(text, client), tail };
    });
  }

  /** Hands on the pieces of a body, and keeps them charged until `finish` is done. */
  async #receive<T>(
    incoming: IncomingMessage,
    client: string,
    push: (piece: Buffer) => void,
    finish: () => Promise<T>,
  ): Promise<T> {
    const declaredBytes = Number(incoming.headers['content-length'] ?? 0);
    if (declaredBytes > this.#limitBytes) throw bodyTooLarge(this.#limitBytes);
    let numBytes = 0;
    const take = (taken: number): void => {
      if (numBytes + taken > this.#limitBytes) throw bodyTooLarge(this.#limitBytes);
      this.budget.charge(client, taken);
      numBytes += taken;
    };
    try {
      await readPieces(incoming, take, push);
      return await finish();
    } finally {
      this.budget.release(client, numBytes);
    }
  }

  /** A few in a turn of the event loop, and other work runs in between. */
  async #parse(json: JsonText, client: string): Promise<unknown> {
    await this.#turns.next(client);
    return parseScanned(json.end());
  }
}

/** In lower case and without parameters; '' if there is none. */
export function mediaTypeOf(contentType = ''): string {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Pages may send this type to other servers only after a preflight, and all others without one. */
function requireJsonOfPages(headers: IncomingHttpHeaders): void {
  if (!isFromPage(headers)) return;
  const contentType = headers['content-type'];
  if (mediaTypeOf(contentType) !== 'application/json') throw unsupportedMediaType(contentType);
}

/**
 * Hands on each piece as it comes. Left alone, Node reads a connection up to 32 times in a
 * turn of the event loop: after a piece's worth the request is paused until the next one.
 * @param take is called with each piece's bytes, and may reject them
 */
function readPieces(
  incoming: IncomingMessage,
  take: (numBytes: number) => void,
  push: (piece: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let numSmall = 0;
    let numInTurn = 0;
    const settle = (finish: () => void): void => {
      incoming.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      finish();
    };
    const fail = (error: unknown): void => settle(() => reject(error));
    const receive = (chunk: Buffer): void => {
      if (chunk.length < SMALL_PIECE_BYTES && ++numSmall > LIMITS.smallBodyPieces) {
        throw badRequest('The body comes in too many small pieces.');
      }
      take(chunk.length);
      pace(chunk.length);
      push(chunk);
    };
    const pace = (numBytes: number): void => {
      numInTurn += numBytes;
      if (numInTurn < LIMITS.bodyTurnBytes || incoming.isPaused()) return;
      incoming.pause();
      setImmediate()
        .then(() => {
          numInTurn = 0;
          incoming.resume();
        })
        .catch(fail);
    };
    const onData = guarded(receive, (error) => {
      fail(error);
      // Reading the rest would cost as much again.
      if (numSmall > LIMITS.smallBodyPieces) incoming.destroy();
    });
    const onEnd = guarded(() => settle(resolve), fail);
    const onClose = guarded(() => {
      throw new ApiError(408, 'invalid_request_error', 'The body was cut short.');
    }, fail);
    incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
