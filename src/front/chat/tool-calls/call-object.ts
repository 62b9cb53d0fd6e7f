import { JsonScanner } from './json-scanner.ts';

export interface CallProgress {
  /** The tool's name, with the first piece of its arguments. */
  readonly name?: string;
  /** A piece of the arguments' JSON text; may be empty. */
  readonly arguments: string;
  readonly state: 'open' | 'done' | 'bad';
}

const BAD: CallProgress = { arguments: '', state: 'bad' };

/** Llama's models say `parameters`, all others `arguments`. */
const ARGUMENT_KEYS: ReadonlySet<string> = new Set(['arguments', 'parameters']);

/**
 * Reads one call, an object with a name and an object of arguments in either order, as it grows. The
 * arguments come out as they come, once the name is known to be a tool's.
 */
export class CallObject {
  readonly #toolNames: ReadonlySet<string>;
  readonly #scanner = new JsonScanner();
  #raw = '';
  #key = '';
  /** Where the key or value at hand starts in the text. */
  #start = 0;
  #name: string | null = null;
  #hasArguments = false;
  #isInArguments = false;
  /** Arguments that have not come out yet. */
  #pending = '';
  #isAnnounced = false;

  constructor(toolNames: ReadonlySet<string>) {
    this.#toolNames = toolNames;
  }

  /** Takes one character; after `done` or `bad` no more. */
  push(character: string): CallProgress {
    if (this.#raw === '' && character !== '{') return BAD;
    this.#raw += character;
    if (!this.#scanner.push(character)) return BAD;
    const isIn = this.#isInArguments;
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
        this.#start = this.#raw.length - 1;
        return true;
      case 'key-end':
        this.#key = String(JSON.parse(this.#raw.slice(this.#start)));
        return !this.#isTaken(this.#key);
      case 'value-start':
        this.#start = this.#raw.length - 1;
        if (isArguments) this.#isInArguments = this.#hasArguments = character === '{';
        return isArguments ? this.#isInArguments : this.#key !== 'name' || character === '"';
      case 'value-end':
        this.#isInArguments = false;
        if (this.#key !== 'name') return true;
        this.#name = String(JSON.parse(this.#raw.slice(this.#start)));
        return this.#toolNames.has(this.#name);
      case null:
        return true;
    }
  }

  /** A second name, or second arguments, would contradict what has come out. */
  #isTaken(key: string): boolean {
    return key === 'name' ? this.#name !== null : ARGUMENT_KEYS.has(key) && this.#hasArguments;
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
