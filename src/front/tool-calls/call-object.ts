import { JsonScanner } from './json-scanner.ts';

export interface CallProgress {
  /** The tool's name, with the first piece of its arguments. */
  readonly name?: string;
  /** A piece of the arguments' JSON text; may be empty. */
  readonly arguments: string;
  readonly state: 'open' | 'done' | 'bad';
}

const BAD: CallProgress = { arguments: '', state: 'bad' };

/** Characters of a key or a name, as it is written. */
const MAX_TEXT_LENGTH = 512;

/** Llama's models say `parameters`, all others `arguments`. */
const ARGUMENT_KEYS: ReadonlySet<string> = new Set(['arguments', 'parameters']);

/**
 * Reads one call, an object with a name and an object of arguments in either order, as it grows. The
 * arguments come out as they come, once the name is known and may be called.
 */
export class CallObject {
  readonly #nameKey: string;
  readonly #isTool: (name: string) => boolean;
  readonly #scanner = new JsonScanner();
  #isAtStart = true;
  #key = '';
  /** The key at hand, or the name, as far as it has come; null within all else. */
  #text: string | null = null;
  #name: string | null = null;
  #hasArguments = false;
  #isInArguments = false;
  /** Arguments that have not come out yet. */
  #pending = '';
  #isAnnounced = false;

  /** @param nameKey the key of the name */
  constructor(nameKey: string, isTool: (name: string) => boolean) {
    this.#nameKey = nameKey;
    this.#isTool = isTool;
  }

  /** Takes one character; after `done` or `bad` no more. */
  push(character: string): CallProgress {
    if (this.#isAtStart && character !== '{') return BAD;
    this.#isAtStart = false;
    if (!this.#scanner.push(character)) return BAD;
    const isIn = this.#isInArguments;
    if (this.#text !== null) this.#text += character;
    if (this.#text !== null && this.#text.length > MAX_TEXT_LENGTH) return BAD;
    if (this.#scanner.eventDepth === 1 && !this.#follow(character)) return BAD;
    if (isIn || this.#isInArguments) this.#pending += character;
    if (!this.#scanner.isDone) return this.#progress('open');
    if (this.#name === null) return BAD;
    // Models leave out the arguments of tools that take none.
    if (!this.#hasArguments) this.#pending = '{}';
    this.#hasArguments = true;
    return this.#progress('done');
  }

  /** @returns false when this is no call. */
  #follow(character: string): boolean {
    const isArguments = ARGUMENT_KEYS.has(this.#key);
    switch (this.#scanner.event) {
      case 'key-start':
        this.#text = character;
        return true;
      case 'key-end':
        this.#key = this.#takeText();
        return !this.#isTaken(this.#key);
      case 'value-start':
        if (isArguments) this.#isInArguments = this.#hasArguments = character === '{';
        if (this.#key === this.#nameKey) this.#text = character;
        return isArguments ? this.#isInArguments : this.#text === null || character === '"';
      case 'value-end':
        this.#isInArguments = false;
        if (this.#key !== this.#nameKey) return true;
        this.#name = this.#takeText();
        return this.#isTool(this.#name);
      case null:
        return true;
    }
  }

  #takeText(): string {
    const text = String(JSON.parse(this.#text ?? '""'));
    this.#text = null;
    return text;
  }

  /** A second name, or second arguments, would contradict what has come out. */
  #isTaken(key: string): boolean {
    return key === this.#nameKey
      ? this.#name !== null
      : ARGUMENT_KEYS.has(key) && this.#hasArguments;
  }

  #progress(state: 'open' | 'done'): CallProgress {
    if (this.#name === null || !this.#hasArguments) return { arguments: '', state };
    const progress = { arguments: this.#pending, state };
    this.#pending = '';
    if (this.#isAnnounced) return progress;
    this.#isAnnounced = true;
    return { ...progress, name: this.#name };
  }
}
