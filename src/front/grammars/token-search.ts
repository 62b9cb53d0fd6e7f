import { byteLevel } from './grammar-vocabulary.ts';

/** Between the texts of two tokens: no token has it, since bytes are spelled with other characters. */
const SEPARATOR = '\n';

/** Finds the tokens whose texts contain a text. */
export class TokenSearch {
  readonly #tokens: readonly string[];
  #joined: string | null = null;
  #starts = new Int32Array();

  /** @param tokens by id, spelled as in GrammarVocabulary */
  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  /** Ids of the tokens that contain all of `text`, ascending; special tokens are not among them. */
  tokensWith(text: string): Int32Array {
    const joined = (this.#joined ??= this.#join());
    const sought = byteLevel(text);
    const ids: number[] = [];
    let id = 0;
    let at = joined.indexOf(sought);
    while (at !== -1) {
      id = this.#idAt(at, id);
      ids.push(id);
      // The next token.
      at = joined.indexOf(sought, this.#starts[id + 1]);
    }
    return Int32Array.from(ids);
  }

  #join(): string {
    this.#starts = new Int32Array(this.#tokens.length + 1);
    for (const [id, token] of this.#tokens.entries()) {
      this.#starts[id + 1] = (this.#starts[id] ?? 0) + token.length + SEPARATOR.length;
    }
    return this.#tokens.join(SEPARATOR) + SEPARATOR;
  }

  /** @param low an id whose text does not begin after `at` */
  #idAt(at: number, low: number): number {
    let first = low;
    let end = this.#tokens.length;
    while (end - first > 1) {
      const middle = (first + end) >>> 1;
      if ((this.#starts[middle] ?? 0) <= at) first = middle;
      else end = middle;
    }
    return first;
  }
}
