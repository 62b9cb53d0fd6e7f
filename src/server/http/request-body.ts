/** Reads a JSON request body, bounded, straight from Node's request. */
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { LIMITS } from '../../limits.ts';
import { BodyBudget } from './body-budget.ts';
import { ApiError, badRequest, bodyTooLarge, unsupportedMediaType } from '../errors.ts';
import { JsonText, parseScanned } from './json-text.ts';

/** Characters of a body that is parsed without waiting for its turn. */
const SMALL_BODY = 16_384;

/** Pieces of fewer bytes are counted. */
const SMALL_PIECE_BYTES = 64;

/** Reads the bodies of all requests. */
export class BodyReader {
  readonly #limitBytes: number;
  readonly #budget = new BodyBudget();
  /** Ends when the last of the large bodies has been parsed. */
  #lastTurn: Promise<unknown> = Promise.resolve();

  /** @param limitBytes holds for bodies with a Content-Length and for chunked ones */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /**
   * The parsed JSON body of `incoming`.
   * @param client who is charged for it meanwhile
   * @throws ApiError 415 for another media type, 413 past the limit, 429 or 503 when too much is
   *   being read at once, 400 for what is not JSON, or too large a piece of it.
   */
  async read(incoming: IncomingMessage, client: string): Promise<unknown> {
    requireJsonMediaType(incoming.headers['content-type']);
    const declaredBytes = Number(incoming.headers['content-length'] ?? 0);
    if (declaredBytes > this.#limitBytes) throw bodyTooLarge(this.#limitBytes);
    let numBytes = 0;
    const take = (taken: number): void => {
      if (numBytes + taken > this.#limitBytes) throw bodyTooLarge(this.#limitBytes);
      this.#budget.charge(client, taken);
      numBytes += taken;
    };
    try {
      const text = await readText(incoming, take);
      if (text.length > SMALL_BODY) await this.#turn();
      return parseScanned(text);
    } finally {
      this.#budget.release(client, numBytes);
    }
  }

  /** Large bodies that arrive together are parsed one by one, and other work runs in between. */
  async #turn(): Promise<void> {
    const turn = this.#lastTurn.then(() => setImmediate());
    this.#lastTurn = turn;
    await turn;
  }
}

function requireJsonMediaType(contentType: string | undefined): void {
  const mediaType = contentType?.split(';', 1)[0]?.trim().toLowerCase();
  if (mediaType !== 'application/json') throw unsupportedMediaType(contentType);
}

/**
 * Decodes and scans each piece as it comes. Left alone, Node reads a connection up to 32 times in a
 * turn of the event loop: after a piece's worth the request is paused until the next one.
 * @param take is called with each piece's bytes, and may reject them
 */
function readText(incoming: IncomingMessage, take: (numBytes: number) => void): Promise<string> {
  return new Promise((resolve, reject) => {
    const text = new JsonText();
    let numSmall = 0;
    let numInTurn = 0;
    const settle = (finish: () => void): void => {
      incoming.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose);
      finish();
    };
    const onData = (chunk: Buffer): void => {
      try {
        if (chunk.length < SMALL_PIECE_BYTES && ++numSmall > LIMITS.smallBodyPieces) {
          throw badRequest('The body comes in too many small pieces.');
        }
        take(chunk.length);
        pace(chunk.length);
        text.push(chunk);
      } catch (error) {
        settle(() => reject(error));
        // Reading the rest would cost as much again.
        if (numSmall > LIMITS.smallBodyPieces) incoming.destroy();
      }
    };
    const pace = (numBytes: number): void => {
      numInTurn += numBytes;
      if (numInTurn < LIMITS.bodyTurnBytes || incoming.isPaused()) return;
      incoming.pause();
      void setImmediate().then(() => {
        numInTurn = 0;
        incoming.resume();
      });
    };
    const onEnd = (): void => settle(() => resolve(text.end()));
    const onClose = (): void =>
      settle(() => reject(new ApiError(408, 'invalid_request_error', 'The body was cut short.')));
    incoming.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose);
  });
}
