/** Follows one JSON value character by character and rejects a text as soon as it is none. */

type Expectation =
  | 'value'
  | 'value-or-end'
  | 'key'
  | 'key-or-end'
  | 'colon'
  | 'comma-or-end'
  | 'string'
  | 'escape'
  | 'hex'
  | 'literal'
  | 'number'
  | 'nothing';

const NUMBER_START = /^-?((0|[1-9]\d*)(\.\d*)?)?$|^-?(0|[1-9]\d*)(\.\d+)?[eE][-+]?\d*$/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/;
const LITERALS: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' };

/** Objects and lists in each other. */
const MAX_DEPTH = 64;
const MAX_NUMBER_LENGTH = 100;

/** Effect of the last character on a key or a value. */
export type ScannerEvent = 'key-start' | 'key-end' | 'value-start' | 'value-end';

export class JsonScanner {
  /** Null when the last character neither started nor ended anything. */
  event: ScannerEvent | null = null;
  /** Objects and lists around the key or value of the event. */
  eventDepth = 0;
  #expects: Expectation = 'value';
  /** Open objects and lists, outermost first. */
  readonly #open: ('{' | '[')[] = [];
  #isKey = false;
  /** Characters so far of a number or a literal. */
  #word = '';
  #hexLeft = 0;

  /** Whether the value is complete. For a number at the top level that is never known. */
  get isDone(): boolean {
    return this.#expects === 'nothing';
  }

  /** @returns false if the character can't stand here; the scanner is of no use then. */
  push(character: string): boolean {
    this.event = null;
    switch (this.#expects) {
      case 'string':
        return this.#inString(character);
      case 'escape':
        this.#expects = character === 'u' ? 'hex' : 'string';
        this.#hexLeft = 4;
        return 'u"\\/bfnrt'.includes(character);
      case 'hex':
        if (--this.#hexLeft === 0) this.#expects = 'string';
        return /[0-9a-fA-F]/.test(character);
      case 'literal':
        return this.#inLiteral(character);
      case 'number':
        return this.#inNumber(character);
      case 'nothing':
        return isSpace(character);
      case 'value':
        return isSpace(character) || this.#startValue(character);
      case 'value-or-end':
        if (character === ']') return this.#close('[');
        return isSpace(character) || this.#startValue(character);
      case 'key':
        return isSpace(character) || this.#startKey(character);
      case 'key-or-end':
        if (character === '}') return this.#close('{');
        return isSpace(character) || this.#startKey(character);
      case 'colon':
        if (character === ':') this.#expects = 'value';
        return character === ':' || isSpace(character);
      case 'comma-or-end':
        return isSpace(character) || this.#afterValue(character);
    }
  }

  #inString(character: string): boolean {
    if (character === '\\') this.#expects = 'escape';
    else if (character === '"') {
      if (this.#isKey) {
        this.#expects = 'colon';
        this.#tell('key-end');
      } else this.#ended();
      this.#isKey = false;
    }
    return character >= ' ';
  }

  #inLiteral(character: string): boolean {
    const whole = LITERALS[this.#word[0] ?? ''] ?? '';
    this.#word += character;
    if (this.#word === whole) this.#ended();
    return whole.startsWith(this.#word);
  }

  #inNumber(character: string): boolean {
    const longer = this.#word + character;
    if (longer.length <= MAX_NUMBER_LENGTH && NUMBER_START.test(longer)) {
      this.#word = longer;
      return true;
    }
    if (!NUMBER.test(this.#word)) return false;
    this.#ended();
    // The character's own event comes after the number's end.
    const isAllowed = this.push(character);
    if (this.event === null) this.#tell('value-end');
    return isAllowed;
  }

  #afterValue(character: string): boolean {
    if (character === '}') return this.#close('{');
    if (character === ']') return this.#close('[');
    this.#expects = this.#open.at(-1) === '{' ? 'key' : 'value';
    return character === ',';
  }

  #startKey(character: string): boolean {
    this.#isKey = true;
    this.#expects = 'string';
    this.#tell('key-start');
    return character === '"';
  }

  #startValue(character: string): boolean {
    this.#word = character;
    this.#tell('value-start');
    if (character === '{' || character === '[') {
      if (this.#open.length === MAX_DEPTH) return false;
      this.#open.push(character);
      this.#expects = character === '{' ? 'key-or-end' : 'value-or-end';
    } else if (character === '"') this.#expects = 'string';
    else if (LITERALS[character] !== undefined) this.#expects = 'literal';
    else this.#expects = 'number';
    return this.#expects !== 'number' || NUMBER_START.test(character);
  }

  #close(opener: '{' | '['): boolean {
    const isOpen = this.#open.pop() === opener;
    this.#ended();
    return isOpen;
  }

  #ended(): void {
    this.#expects = this.#open.length === 0 ? 'nothing' : 'comma-or-end';
    this.#tell('value-end');
  }

  #tell(event: ScannerEvent): void {
    this.event = event;
    this.eventDepth = this.#open.length;
  }
}

function isSpace(character: string): boolean {
  return ' \t\n\r'.includes(character);
}
