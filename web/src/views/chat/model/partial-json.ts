/** JSON that is still being written. */

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** A number, or what may become one. */
const BEGUN_NUMBER = /-?(?:(?:0|[1-9]\d*)(?:\.\d*)?(?:[eE][+-]?\d*)?)?/y;
const WORDS = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

/**
 * Reads what has been written of a value. Parts that say nothing yet, such as a name alone, are left
 * out; `value` is undefined if that is all.
 * @returns null where nothing that follows can make JSON of it
 */
export function parsePartialJson(text: string): { readonly value: unknown } | null {
  try {
    const reader = new PartialReader(text);
    const value = reader.value();
    return reader.isAtEnd() ? { value } : null;
  } catch {
    return null;
  }
}

class PartialReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** After spaces. */
  isAtEnd(): boolean {
    this.#take(SPACE);
    return this.#at >= this.#text.length;
  }

  /** @throws SyntaxError where none can come of it */
  value(): unknown {
    if (this.isAtEnd()) return undefined;
    switch (this.#text.charAt(this.#at)) {
      case '{':
        return this.#object();
      case '[':
        return this.#list();
      case '"':
        return this.#string();
      default: {
        const word = this.#word();
        return word === null ? this.#number() : word.value;
      }
    }
  }

  #object(): unknown {
    const entries: (readonly [string, unknown])[] = [];
    this.#items('}', () => {
      if (this.#text[this.#at] !== '"') throw new SyntaxError('expected a name');
      const name = this.#string();
      if (this.isAtEnd()) return;
      if (this.#text[this.#at++] !== ':') throw new SyntaxError('expected a colon');
      const value = this.value();
      if (value !== undefined) entries.push([name, value]);
    });
    return Object.fromEntries(entries);
  }

  #list(): unknown[] {
    const items: unknown[] = [];
    this.#items(']', () => {
      const value = this.value();
      if (value !== undefined) items.push(value);
    });
    return items;
  }

  /** Up to the bracket that closes them, or to the end. */
  #items(closing: string, readItem: () => void): void {
    this.#at += 1;
    for (let isFirst = true; !this.isAtEnd(); isFirst = false) {
      const character = this.#text[this.#at];
      if (character === closing && isFirst) break;
      if (!isFirst) {
        this.#at += 1;
        if (character === closing) return;
        if (character !== ',') throw new SyntaxError('expected a comma');
        if (this.isAtEnd()) return;
      }
      readItem();
    }
    this.#at += 1;
  }

  #string(): string {
    const start = this.#at;
    for (let at = start + 1; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === '\\') at += 1;
      if (character !== '"') continue;
      this.#at = at + 1;
      return JSON.parse(this.#text.slice(start, this.#at)) as string;
    }
    this.#at = this.#text.length;
    const begun = this.#text.slice(start);
    // Without an escape that is not whole.
    const [whole = '"'] = /^"(?:[^\\]|\\u[\da-fA-F]{4}|\\[^u])*/.exec(begun) ?? [];
    if (!/^(?:\\(?:u[\da-fA-F]{0,3})?)?$/.test(begun.slice(whole.length))) {
      throw new SyntaxError('expected an escape');
    }
    return JSON.parse(`${whole}"`) as string;
  }

  /** @returns null where there is none */
  #word(): { readonly value: unknown } | null {
    const rest = this.#text.slice(this.#at, this.#at + 5);
    for (const [word, value] of WORDS) {
      const isBegun = rest !== '' && word.startsWith(rest);
      if (!isBegun && !rest.startsWith(word)) continue;
      this.#at += Math.min(word.length, rest.length);
      return { value: isBegun && rest !== word ? undefined : value };
    }
    return null;
  }

  #number(): number | undefined {
    const begun = this.#peek(BEGUN_NUMBER);
    if (begun === '') throw new SyntaxError('expected a value');
    const whole = this.#peek(NUMBER);
    const isLast = this.#at + begun.length >= this.#text.length;
    this.#at += isLast ? begun.length : whole.length;
    return whole === '' ? undefined : Number(whole);
  }

  #peek(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0] ?? '';
  }

  #take(pattern: RegExp): void {
    this.#at += this.#peek(pattern).length;
  }
}
