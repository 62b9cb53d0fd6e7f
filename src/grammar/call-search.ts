/** Finds the arguments of tool calls in a text. */
import { type CountedCalls, NOTHING_COUNTED } from './counted-text.ts';
import { TextSearch } from './text-search.ts';

export type CallPart = 'text' | 'calls' | 'named' | 'arguments';

/** How far a text has come; plain values, to be copied. */
export interface CallState {
  callPart: CallPart;
  /** State of the search in the part. */
  search: number;
  /** Place of the next arguments. */
  argumentsPlace: number;
}

/** Follows a text outside of calls' arguments, byte by byte. */
export class CallSearch {
  readonly start: Readonly<CallState>;
  /** Bytes from any text to the arguments of a call, at least. */
  readonly shortest: number;
  readonly #calls: CountedCalls;
  readonly #open: TextSearch;
  /** The calls' starts, and the end after them. */
  readonly #starts: TextSearch;
  readonly #afterName: TextSearch;

  constructor(calls: CountedCalls) {
    this.#calls = calls;
    const { open, end, starts, afterName } = calls;
    this.#open = searchOf([open]);
    this.#starts = searchOf([...starts.map(({ text }) => text), end]);
    this.#afterName = searchOf([afterName]);
    const lengths = starts.map(({ text }) => Buffer.byteLength(text));
    this.shortest = Buffer.byteLength(open) + Math.min(...lengths);
    this.start = {
      callPart: open === '' ? 'calls' : 'text',
      search: 0,
      argumentsPlace: NOTHING_COUNTED,
    };
  }

  /** Takes a byte into account. With the last one before them, the part becomes `arguments`. */
  step(state: CallState, byte: number): void {
    const { open, starts, afterName } = this.#calls;
    const search = this.#searchIn(state.callPart);
    state.search = search.step(state.search, byte);
    const found = search.found(state.search);
    if (found === -1) return;
    if (state.callPart === 'text') this.#enter(state, 'calls');
    else if (state.callPart === 'named') this.#enter(state, 'arguments');
    else {
      const start = starts[found];
      if (start === undefined) {
        // The end; calls that open a text are all that there are.
        if (open !== '') this.#enter(state, 'text');
        return;
      }
      state.argumentsPlace = start.place;
      this.#enter(state, afterName === '' ? 'arguments' : 'named');
    }
  }

  /** The arguments are over. */
  leave(state: CallState): void {
    const { repeats, end, open } = this.#calls;
    this.#enter(state, repeats || end !== '' || open === '' ? 'calls' : 'text');
  }

  #searchIn(part: CallPart): TextSearch {
    if (part === 'text') return this.#open;
    return part === 'named' ? this.#afterName : this.#starts;
  }

  #enter(state: CallState, part: CallPart): void {
    state.callPart = part;
    state.search = 0;
  }
}

function searchOf(texts: readonly string[]): TextSearch {
  return new TextSearch(texts.filter((text) => text !== '').map((text) => Buffer.from(text)));
}
