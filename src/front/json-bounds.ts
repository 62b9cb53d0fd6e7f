import { LIMITS } from '../limits.ts';

/** A JSON text is of a shape that would take too long to parse; the message names the limit. */
export class JsonBoundError extends Error {
  override readonly name = 'JsonBoundError';
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Names like these are indices to V8, which keeps such fields in a table and not in a shape. */
const DIGITS = /^\d*$/;
const LEADING_ZERO = 0x30;
const MAX_INDEX_DIGITS = 9;

/**
 * Counts the elements of a JSON text while its pieces arrive, and rejects it at the first piece
 * that exceeds a limit. It does not check that the text is JSON: the parser does.
 */
export class JsonScanner {
  #depth = 0;
  #numValues = 0;
  #numContainers = 0;
  #numStrings = 0;
  #numFields = 0;
  #isInString = false;
  #isEscaped = false;
  /** Length of the current string, or the last one. */
  #stringLength = 0;
  #isIndex = false;

  /** @throws JsonBoundError */
  push(piece: string): void {
    let at = 0;
    while (at < piece.length) {
      at = this.#isInString ? this.#skipString(piece, at) : this.#skipStructure(piece, at);
    }
  }

  /** @returns where the string ends, or the piece */
  #skipString(piece: string, start: number): number {
    let at = start;
    let isEscaped = this.#isEscaped;
    let isPlain = !isEscaped;
    for (; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      if (isEscaped) {
        isEscaped = false;
      } else if (code === BACKSLASH) {
        isEscaped = true;
        isPlain = false;
      } else if (code === QUOTE) {
        break;
      }
    }
    this.#isEscaped = isEscaped;
    if (this.#stringLength === 0 && piece.charCodeAt(start) === LEADING_ZERO) isPlain = false;
    this.#stringLength += at - start;
    this.#isIndex &&=
      isPlain && this.#stringLength <= MAX_INDEX_DIGITS && DIGITS.test(piece.slice(start, at));
    if (at === piece.length) return at;
    this.#isInString = false;
    return at + 1;
  }

  /** @returns where a string begins, or the piece's end */
  #skipStructure(piece: string, start: number): number {
    for (let at = start; at < piece.length; at++) {
      const code = piece.charCodeAt(at);
      // Digits, letters and spaces are the most of it.
      if (code > COLON && code < OPEN_LIST) continue;
      this.#count(code);
      if (this.#isInString) return at + 1;
    }
    return piece.length;
  }

  #count(code: number): void {
    switch (code) {
      case QUOTE:
        this.#isInString = true;
        this.#isIndex = true;
        this.#stringLength = 0;
        this.#numStrings++;
        refuseOver(this.#numStrings, LIMITS.jsonStrings, 'strings');
        break;
      case COLON:
        // Ids as names are bounded as values are, by the commas between them.
        if (this.#isIndex && this.#stringLength > 0) {
          this.#numStrings--;
        } else {
          this.#numFields++;
          refuseOver(this.#numFields, LIMITS.jsonFields, 'fields');
        }
        break;
      case COMMA:
        this.#numValues++;
        refuseOver(this.#numValues, LIMITS.jsonValues, 'values');
        break;
      case OPEN_LIST:
      case OPEN_OBJECT:
        this.#depth++;
        this.#numContainers++;
        refuseOver(this.#depth, LIMITS.jsonDepth, 'levels of lists and objects within each other');
        refuseOver(this.#numContainers, LIMITS.jsonContainers, 'lists and objects');
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        this.#depth--;
        break;
    }
  }
}

function refuseOver(count: number, limit: number, what: string): void {
  if (count > limit) throw new JsonBoundError(`it has more than ${limit} ${what}`);
}

/** JSON.parse for texts of clients. @throws JsonBoundError, SyntaxError */
export function parseBoundedJson(text: string): unknown {
  new JsonScanner().push(text);
  return JSON.parse(text);
}
