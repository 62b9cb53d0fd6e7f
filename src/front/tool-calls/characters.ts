/** Reads a text that comes character by character, in steps that stop where the next one is awaited. */

/** Each step takes one UTF-16 unit. */
export type Steps<T> = Generator<undefined, T, string>;

/** The text is no call. One for all: what a model writes must not cost a stack trace. */
export class NoCallError extends Error {
  override readonly name = 'NoCallError';
}
export const NO_CALL = new NoCallError('no call');

/** Length of a tool's or an argument's name, in UTF-16 units. */
const MAX_NAME_LENGTH = 256;

export class Characters {
  #unread: string | null = null;

  *take(): Steps<string> {
    return this.takePutBack() ?? (yield);
  }

  /** The character that was put back, if there is one. */
  takePutBack(): string | null {
    const character = this.#unread;
    this.#unread = null;
    return character;
  }

  /** Has `character` taken once more. */
  putBack(character: string): void {
    this.#unread = character;
  }

  /** The next character that is no white space. */
  *takeSolid(): Steps<string> {
    for (;;) {
      const character = yield* this.take();
      if (!isSpace(character)) return character;
    }
  }

  /** Passes over a text, whatever white space there is around it. @throws NoCallError */
  *pass(text: string): Steps<void> {
    const solid = text.trim();
    if (solid !== '') yield* this.passOne([solid]);
  }

  /**
   * Passes over white space and one of the texts, none of which another one begins with.
   * @throws NoCallError
   */
  *passOne(texts: readonly string[]): Steps<string> {
    let left = texts;
    let character = yield* this.takeSolid();
    for (let at = 0; ; at++) {
      const wanted = character;
      left = left.filter((text) => text[at] === wanted);
      const [first] = left;
      if (first === undefined) {
        this.putBack(character);
        throw NO_CALL;
      }
      if (first.length === at + 1) return first;
      character = yield* this.take();
    }
  }

  /**
   * A name, up to one of the characters that end it, which stays to be taken.
   * @throws NoCallError if there is none, or if it is too long
   */
  *name(ends: string): Steps<string> {
    let name = '';
    let character = yield* this.takeSolid();
    while (!ends.includes(character)) {
      name += character;
      if (name.length > MAX_NAME_LENGTH) throw NO_CALL;
      character = yield* this.take();
    }
    this.putBack(character);
    const trimmed = name.trim();
    if (trimmed === '') throw NO_CALL;
    return trimmed;
  }

  /**
   * All text up to `end`, whose first character is nowhere else in it.
   * @param give takes the text in pieces
   */
  *until(end: string, give: (text: string) => void): Steps<void> {
    let matched = 0;
    for (;;) {
      const character = yield* this.take();
      if (character === end[matched]) {
        if (++matched === end.length) return;
        continue;
      }
      if (matched > 0) give(end.slice(0, matched));
      matched = character === end[0] ? 1 : 0;
      if (matched === 0) give(character);
    }
  }
}

export function isSpace(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\t' || character === '\r';
}
