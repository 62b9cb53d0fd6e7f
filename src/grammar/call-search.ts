/** Finds the arguments of tool calls in a text. */
import type { CallStart, CountedCalls } from './counted-text.ts';
import { TextSearch } from './text-search.ts';

/** `parameters` is between arguments that stand one by one; `text value` is one that is written as it is. */
export type CallPart = 'text' | 'calls' | 'named' | 'arguments' | 'parameters' | 'text value';

/** How far a text has come; plain values, to be copied. */
export interface CallState {
  callPart: CallPart;
  /** State of the search in the part. */
  search: number;
  /** Place of the next arguments, or of the next one. */
  argumentsPlace: number;
  /** Index of the call's start. */
  start: number;
  /** Characters of the text so far, and how many it may have. */
  numCharacters: number;
  min: number;
  max: number;
  /** Whether the text may have the beginning of its end in it. */
  isAny: boolean;
}

/** Follows a text outside of calls' arguments, byte by byte. */
export class CallSearch {
  readonly start: Readonly<Partial<CallState>>;
  /** Bytes from any text to the arguments of a call, at least. */
  readonly shortest: number;
  readonly #calls: CountedCalls;
  readonly #open: TextSearch;
  /** The calls' starts, and the end after them. */
  readonly #starts: TextSearch;
  readonly #afterName: TextSearch;
  /** By call: what stands before its arguments, and what closes it. */
  readonly #parameters: readonly TextSearch[];

  constructor(calls: CountedCalls) {
    this.#calls = calls;
    const { open, end, starts, afterName, parameters } = calls;
    this.#open = searchOf([open]);
    this.#starts = searchOf([...starts.map(({ text }) => text), end]);
    this.#afterName = searchOf([afterName]);
    this.#parameters =
      parameters === undefined ? [] : starts.map((each) => parametersOf(each, parameters.close));
    const lengths = starts.map(({ text }) => Buffer.byteLength(text));
    this.shortest = Buffer.byteLength(open) + Math.min(...lengths);
    this.start = { callPart: open === '' ? 'calls' : 'text' };
  }

  /** Takes a byte into account. With the last one before them, the part becomes that of arguments. */
  step(state: CallState, byte: number): void {
    const { open, starts, afterName } = this.#calls;
    const search = this.#searchIn(state);
    state.search = search.step(state.search, byte);
    const found = search.found(state.search);
    if (found === -1) return;
    if (state.callPart === 'text') this.#enter(state, 'calls');
    else if (state.callPart === 'named') this.#enter(state, 'arguments');
    else if (state.callPart === 'parameters') this.#enterParameter(state, found);
    else {
      const start = starts[found];
      if (start === undefined) {
        // The end; calls that open a text are all that there are.
        if (open !== '') this.#enter(state, 'text');
        return;
      }
      state.start = found;
      state.argumentsPlace = start.place;
      if (start.parameters !== undefined) this.#enter(state, 'parameters');
      else this.#enter(state, afterName === '' ? 'arguments' : 'named');
    }
  }

  /** The arguments are over, or the value of one that stands by itself is. */
  leave(state: CallState): void {
    if (this.#calls.parameters === undefined) this.#leaveCall(state);
    else this.#enter(state, 'parameters');
  }

  #enterParameter(state: CallState, found: number): void {
    const parameter = this.#calls.starts[state.start]?.parameters?.[found];
    if (parameter === undefined) {
      this.#leaveCall(state);
      return;
    }
    const { place, bounds, isAny = false } = parameter;
    state.argumentsPlace = place;
    this.#enter(state, bounds === undefined ? 'arguments' : 'text value');
    state.numCharacters = 0;
    state.min = bounds?.[0] ?? 0;
    state.max = bounds?.[1] ?? Infinity;
    state.isAny = isAny;
  }

  #leaveCall(state: CallState): void {
    const { repeats, end, open } = this.#calls;
    this.#enter(state, repeats || end !== '' || open === '' ? 'calls' : 'text');
  }

  #searchIn({ callPart, start }: CallState): TextSearch {
    if (callPart === 'text') return this.#open;
    if (callPart === 'parameters') return this.#parameters[start] ?? this.#starts;
    return callPart === 'named' ? this.#afterName : this.#starts;
  }

  #enter(state: CallState, part: CallPart): void {
    state.callPart = part;
    state.search = 0;
  }
}

function parametersOf({ parameters = [] }: CallStart, close: string): TextSearch {
  return searchOf([...parameters.map(({ text }) => text), close]);
}

function searchOf(texts: readonly string[]): TextSearch {
  return new TextSearch(texts.filter((text) => text !== '').map((text) => Buffer.from(text)));
}
