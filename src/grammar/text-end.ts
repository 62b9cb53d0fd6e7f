/** Texts that are written as they are, up to a marker: counts their characters. */
import type { CallState } from './call-search.ts';
import { TextSearch } from './text-search.ts';

export class TextEnd {
  /** The marker. */
  readonly text: string;
  readonly #search: TextSearch;
  /** Bytes of the marker's half. */
  readonly #half: number;
  /** By bytes of the marker that are there: their characters. */
  readonly #characters: readonly number[];

  /** @param text whose first character is nowhere else in it */
  constructor(text: string) {
    this.text = text;
    const bytes = Buffer.from(text);
    // A search for one text has a state for each number of its bytes.
    this.#search = new TextSearch([bytes]);
    this.#half = halfOf(text);
    const characters = [0];
    for (const byte of bytes) characters.push((characters.at(-1) ?? 0) + (isFirst(byte) ? 1 : 0));
    this.#characters = characters;
  }

  /**
   * Takes a byte into account. The beginning of a marker counts once it is none. A text that is too short
   * has none where the grammar would not go on otherwise. Elsewhere it has no more than half of one, lest a
   * model that wants to end it write nearly all, and room for a character that makes it none.
   */
  step(state: CallState, byte: number): 'within' | 'ended' | 'out of bounds' {
    if (isFirst(byte)) state.numCharacters++;
    state.search = this.#search.step(state.search, byte);
    if (state.search > 0 && this.isTooShort(state)) {
      const isPossible = state.isAny && state.numCharacters < state.max;
      return isPossible && state.search <= this.#half ? 'within' : 'out of bounds';
    }
    if (this.#search.found(state.search) !== -1) return 'ended';
    return this.#sure(state) > state.max ? 'out of bounds' : 'within';
  }

  isTooShort(state: CallState): boolean {
    return this.#sure(state) < state.min;
  }

  /** Characters that are no beginning of the marker. */
  #sure({ numCharacters, search }: CallState): number {
    return numCharacters - (this.#characters[search] ?? 0);
  }
}

/** Bytes of a marker's beginning that may stand in a text that is too short. */
export function halfOf(marker: string): number {
  return Math.floor(Buffer.byteLength(marker) / 2);
}

/** Each character has one byte that does not continue another. */
function isFirst(byte: number): boolean {
  return (byte & 0xc0) !== 0x80;
}
