/** The text before a counted JSON: a thought, and what stands between it and the answer. */
import type { ThoughtLayout } from './grammar-source.ts';
import { TextSearch } from './text-search.ts';

const NEWLINE = 0x0a;

type Part = 'opening' | 'thought' | 'next' | 'answer' | 'json';

/** How far a text has come; plain values, to be copied. */
export interface BeforeState {
  part: Part;
  /** Bytes of the part's marker that are there; of a thought, the state of the search for its end. */
  numMatched: number;
}

/** Follows a text, byte by byte, to the first one of its JSON. */
export class TextBefore {
  readonly start: Readonly<BeforeState>;
  readonly #open: Uint8Array;
  readonly #close: TextSearch;
  readonly #next: Uint8Array;
  readonly #answer: Uint8Array;

  constructor(thought: ThoughtLayout | undefined) {
    const { open = '', close = '', next = '', answer = '', isOpen = false } = thought ?? {};
    this.#open = Buffer.from(open);
    this.#close = new TextSearch(close === '' ? [] : [Buffer.from(close)]);
    this.#next = Buffer.from(next);
    this.#answer = Buffer.from(answer);
    const part = thought === undefined ? 'json' : isOpen ? 'thought' : 'opening';
    this.start = { part, numMatched: 0 };
  }

  /** Takes a byte into account. Calls `found` with each that is the JSON's. */
  step(state: BeforeState, byte: number, found: (byte: number) => void): void {
    switch (state.part) {
      case 'opening':
        return this.#opening(state, byte, found);
      case 'thought':
        return this.#thought(state, byte);
      case 'next':
        if (this.#next.length === 0) {
          if (byte === NEWLINE) return;
          this.#enter(state, 'answer');
          return this.step(state, byte, found);
        }
        return this.#pass(state, this.#next, 'answer');
      case 'answer':
        if (this.#answer.length > 0) return this.#pass(state, this.#answer, 'json');
        this.#enter(state, 'json');
        return found(byte);
      case 'json':
        return found(byte);
    }
  }

  #opening(state: BeforeState, byte: number, found: (byte: number) => void): void {
    if (byte === this.#open[state.numMatched]) return this.#pass(state, this.#open, 'thought');
    const read = this.#open.subarray(0, state.numMatched);
    this.#enter(state, 'answer');
    for (const each of [...read, byte]) this.step(state, each, found);
  }

  #thought(state: BeforeState, byte: number): void {
    state.numMatched = this.#close.step(state.numMatched, byte);
    if (this.#close.found(state.numMatched) !== -1) this.#enter(state, 'next');
  }

  #pass(state: BeforeState, marker: Uint8Array, next: Part): void {
    if (++state.numMatched === marker.length) this.#enter(state, next);
  }

  #enter(state: BeforeState, part: Part): void {
    state.part = part;
    state.numMatched = 0;
  }
}
