/**
 * Finds stop strings in a text that grows piece by piece, and holds back no more of it than the
 * longest end that may still become one. The result depends on the whole text alone, never on how
 * it is cut into pieces: the occurrence that starts first ends the text, and if two start together,
 * the shorter one. (If a longer one starts earlier and is not complete yet, the matcher waits for
 * it.)
 */

export interface StopStringsOutput {
  /** Text that is certain to belong to the output. */
  readonly text: string;
  /** The stop string that ended the text. */
  readonly stopped: string | null;
}

/** A Knuth-Morris-Pratt matcher over UTF-16 units. */
class Matcher {
  readonly stop: string;
  /** How much of the stop string the end of the text so far spells. */
  numMatched = 0;
  /** Where the first occurrence starts, or -1. */
  foundAt = -1;
  /** By length of a match that failed: how much of the stop string still matches. */
  readonly #fallback: Uint32Array;

  constructor(stop: string) {
    this.stop = stop;
    this.#fallback = new Uint32Array(stop.length + 1);
    let length = 0;
    for (let i = 1; i < stop.length; i++) {
      length = this.#advance(length, stop.charCodeAt(i));
      this.#fallback[i + 1] = length;
    }
  }

  /** @param position where in the text `unit` stands */
  push(unit: number, position: number): void {
    if (this.foundAt !== -1) return;
    this.numMatched = this.#advance(this.numMatched, unit);
    if (this.numMatched === this.stop.length) {
      this.foundAt = position + 1 - this.stop.length;
      this.numMatched = 0;
    }
  }

  #advance(numMatched: number, unit: number): number {
    let length = numMatched;
    while (length > 0 && this.stop.charCodeAt(length) !== unit) {
      length = this.#fallback[length] ?? 0;
    }
    return this.stop.charCodeAt(length) === unit ? length + 1 : length;
  }
}

export class StopStrings {
  readonly #matchers: readonly Matcher[];
  readonly #includeStop: boolean;
  /** The end of the text, not given out yet; it starts at position `#numGivenOut`. */
  #held = '';
  #numGivenOut = 0;
  #ended = false;

  /** @throws RangeError if a stop string is empty. */
  constructor(stop: readonly string[], options: { readonly includeStop: boolean }) {
    if (stop.includes('')) throw new RangeError('a stop string must not be empty');
    this.#matchers = [...new Set(stop)].map((text) => new Matcher(text));
    this.#includeStop = options.includeStop;
  }

  /** After a stop string was found there is no more text. */
  push(text: string): StopStringsOutput {
    if (this.#ended) return { text: '', stopped: null };
    const start = this.#numGivenOut + this.#held.length;
    this.#held += text;
    for (const matcher of this.#matchers) {
      for (let i = 0; i < text.length; i++) matcher.push(text.charCodeAt(i), start + i);
    }
    const end = start + text.length;
    const pendingAt = Math.min(...this.#matchers.map((matcher) => end - matcher.numMatched), end);
    const found = this.#first();
    if (found !== null && found.foundAt <= pendingAt) return this.#stop(found);
    return { text: this.#giveOut(pendingAt), stopped: null };
  }

  /** Ends the text. */
  flush(): StopStringsOutput {
    if (this.#ended) return { text: '', stopped: null };
    const found = this.#first();
    if (found !== null) return this.#stop(found);
    this.#ended = true;
    return { text: this.#held, stopped: null };
  }

  #first(): Matcher | null {
    let first: Matcher | null = null;
    for (const matcher of this.#matchers) {
      if (matcher.foundAt === -1) continue;
      const isFirst =
        first === null ||
        matcher.foundAt < first.foundAt ||
        (matcher.foundAt === first.foundAt && matcher.stop.length < first.stop.length);
      if (isFirst) first = matcher;
    }
    return first;
  }

  #stop(found: Matcher): StopStringsOutput {
    this.#ended = true;
    const text = this.#giveOut(found.foundAt);
    return { text: this.#includeStop ? text + found.stop : text, stopped: found.stop };
  }

  /** Releases the held text up to a position in the whole text. */
  #giveOut(position: number): string {
    const length = position - this.#numGivenOut;
    const text = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    this.#numGivenOut = position;
    return text;
  }
}
