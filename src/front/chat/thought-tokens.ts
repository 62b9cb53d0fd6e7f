/** Counts the tokens of thoughts: those that begin within them, as vLLM counts them. */
export class ThoughtTokens {
  /** Where thoughts begin and end in the text, in UTF-16 units; the last may be open. */
  #ranges: { readonly start: number; end: number }[] = [];
  /** Where tokens begin that may be of a thought. */
  #undecided: number[] = [];

  begin(at: number): void {
    this.#ranges.push({ start: at, end: Infinity });
  }

  end(at: number): void {
    const last = this.#ranges.at(-1);
    if (last !== undefined) last.end = at;
  }

  /**
   * @param offsets where in the text further tokens begin, in order; some of the text may yet come
   * @param decided how far it is known what the text is
   * @returns how many more tokens are known to be of thoughts
   */
  count(offsets: readonly number[], decided: number): number {
    const all = this.#undecided.length === 0 ? offsets : [...this.#undecided, ...offsets];
    this.#undecided = [];
    let at = 0;
    let counted = 0;
    for (const offset of all) {
      if (offset >= decided) {
        this.#undecided.push(offset);
        continue;
      }
      while (at < this.#ranges.length - 1 && offset >= (this.#ranges[at]?.end ?? 0)) at++;
      const range = this.#ranges[at];
      if (range !== undefined && offset >= range.start && offset < range.end) counted++;
    }
    if (at > 0) this.#ranges = this.#ranges.slice(at);
    return counted;
  }
}
