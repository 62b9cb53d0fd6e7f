/**
 * Splits texts into tokens as byte-level BPE tokenizers do: of all neighbours that form a token
 * together, the pair with the lowest token id merges first, since ids follow the order in which
 * merges were learned. The result differs from such a tokenizer's where its word pattern splits
 * what a merge would join, or where ids have another order.
 */
export class BytePairs {
  readonly #tokens: readonly string[];
  readonly #ids = new Map<string, number>();
  /** For tokens that are not made of two others, such as tags: they are split off first. */
  readonly #wholes: RegExp | null;

  /** @param tokens see GrammarVocabulary */
  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
    for (const [id, token] of tokens.entries()) {
      if (token !== '' && !this.#ids.has(token)) this.#ids.set(token, id);
    }
    const wholes = [...this.#ids.keys()].filter(
      (token) => token.length > 1 && !this.#isPair(token),
    );
    const literals = wholes
      .toSorted((a, b) => b.length - a.length)
      .map((token) => token.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
    this.#wholes = literals.length === 0 ? null : new RegExp(`(${literals.join('|')})`);
  }

  /** @param text in the characters of `tokens`; ends before the first that is in none */
  encode(text: string): number[] {
    const parts = this.#wholes === null ? [text] : text.split(this.#wholes);
    const tokenIds: number[] = [];
    // A pattern with a group splits into texts and, in every second place, what it matched.
    for (const [index, part] of parts.entries()) {
      for (const piece of index % 2 === 1 ? [part] : this.#merge(Array.from(part))) {
        const id = this.#ids.get(piece);
        if (id === undefined) return tokenIds;
        tokenIds.push(id);
      }
    }
    return tokenIds;
  }

  /** Merges neighbours in place until no two are a token. */
  #merge(pieces: string[]): string[] {
    const rank = (at: number) => this.#ids.get(`${pieces[at]}${pieces[at + 1]}`) ?? Infinity;
    const ranks = pieces.slice(1).map((_, at) => rank(at));
    while (ranks.length > 0) {
      const lowest = Math.min(...ranks);
      if (lowest === Infinity) break;
      const at = ranks.indexOf(lowest);
      pieces.splice(at, 2, this.#tokens[lowest] ?? '');
      ranks.splice(at, 1);
      if (at > 0) ranks[at - 1] = rank(at - 1);
      if (at < ranks.length) ranks[at] = rank(at);
    }
    return pieces;
  }

  #isPair(token: string): boolean {
    for (let at = 1; at < token.length; at++) {
      if (this.#ids.has(token.slice(0, at)) && this.#ids.has(token.slice(at))) return true;
    }
    return false;
  }
}
