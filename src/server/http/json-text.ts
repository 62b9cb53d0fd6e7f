/** JSON texts of clients, decoded and scanned as their bytes arrive. */
import { StringDecoder } from 'node:string_decoder';
import { JsonBoundError, JsonScanner } from '../../front/json-bounds.ts';
import { badRequest } from '../errors.ts';
import { withExactSeed } from '../schemas/exact-seed.ts';
import { told } from '../../told.ts';

/** One text, which was looked at piece by piece: what is left to do at once is to parse it. */
export class JsonText {
  /** Unlike a TextDecoder, which takes longer to make than to decode a small frame. */
  readonly #decoder = new StringDecoder('utf8');
  readonly #scanner = new JsonScanner();
  /** Copies, outside of V8's heap, which grows to several times of what it holds before it is collected. */
  readonly #pieces: Buffer[] = [];

  get isEmpty(): boolean {
    return this.#pieces.every(({ length }) => length === 0);
  }

  /** @throws ApiError 400 when there is too much in it for JSON.parse */
  push(bytes: Buffer): void {
    const piece = this.#decoder.write(bytes);
    try {
      this.#scanner.push(piece);
    } catch (error) {
      if (!(error instanceof JsonBoundError)) throw error;
      const message = `The request's JSON is refused: ${error.message}.`;
      throw badRequest(message, null, 'json_too_complex');
    }
    this.#pieces.push(Buffer.from(bytes));
  }

  /** @returns the whole text, to be parsed with `parseScanned` */
  end(): string {
    const [first = Buffer.alloc(0), ...others] = this.#pieces;
    return (others.length === 0 ? first : Buffer.concat(this.#pieces)).toString();
  }
}

/**
 * The value of a text that was scanned; its `seed` may be a bigint.
 * @throws ApiError 400 when it is not JSON
 */
export function parseScanned(text: string): unknown {
  try {
    return withExactSeed(JSON.parse(text), text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const reason = told(error.message, 200);
    throw badRequest(`The request is not valid JSON: ${reason}.`, null, 'invalid_json');
  }
}
