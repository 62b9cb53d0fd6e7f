import type { Draft, DraftSource } from './draft-source.ts';
import { hashSalt, NgramHistory } from './ngram-history.ts';
import type { Sequence } from './sequence.ts';

/** The longest end of the text that is looked up in the text itself. */
const MAX_NGRAM = 3;
/** Kinds 1 to MAX_NGRAM are the lengths of matches; those of the history follow. */
const HISTORY_KIND = MAX_NGRAM + 1;
/** A draft ends where it would hardly come true any more. */
const MIN_CHANCE = 0.1;
const PRIOR_RATES = [0, 0.3, 0.5, 0.75, 0.6, 0.6, 0.3];

interface Guess {
  readonly tokenId: number;
  readonly kind: number;
}

/** How far the history has followed a sequence. */
interface Followed {
  readonly salt: number;
  numTokens: number;
}

/**
 * Drafts from texts: what followed the last time that it went as it goes now, in the sequence's own
 * text (prompt lookup) or in those of late. Right where a text repeats its prompt, itself, or the
 * form of other answers.
 */
export class NgramDrafts implements DraftSource {
  readonly isFree = true;
  readonly #history = new NgramHistory();
  readonly #followed = new WeakMap<Sequence, Followed>();

  costMs(): number {
    return 0;
  }

  priorRate(kind: number): number {
    return PRIOR_RATES[kind] ?? 0;
  }

  draft(sequence: Sequence, numTokens: number, rateOf: (kind: number) => number): Draft {
    const salt = this.#follow(sequence);
    const start = sequence.numTokens;
    const text = new Int32Array(start + numTokens);
    text.set(sequence.tokenIds());
    const kinds: number[] = [];
    let chance = 1;
    for (let end = start; end < text.length; end++) {
      const guess = likelier(findInText(text, end), this.#findInHistory(salt, text, end), rateOf);
      if (guess === null) break;
      text[end] = guess.tokenId;
      kinds.push(guess.kind);
      chance *= rateOf(guess.kind);
      if (chance < MIN_CHANCE) break;
    }
    return { tokenIds: text.subarray(start, start + kinds.length), kinds };
  }

  release(): void {}

  /** Brings the history up to date with a sequence; returns the number of its salt. */
  #follow(sequence: Sequence): number {
    let followed = this.#followed.get(sequence);
    if (!followed) {
      followed = { salt: hashSalt(sequence.request.cacheSalt), numTokens: 0 };
      this.#followed.set(sequence, followed);
    }
    this.#history.add(followed.salt, sequence.tokenIds(), followed.numTokens);
    followed.numTokens = sequence.numTokens;
    return followed.salt;
  }

  #findInHistory(salt: number, text: Int32Array, end: number): Guess | null {
    const found = this.#history.find(salt, text, end);
    return found && { tokenId: found.tokenId, kind: HISTORY_KIND + found.order };
  }
}

/** What followed the latest of the longest matches with the end of the first `end` tokens. */
function findInText(text: Int32Array, end: number): Guess | null {
  const last = end - 1;
  let longest = 0;
  let tokenId = -1;
  for (let at = last - 1; at >= 0 && longest < MAX_NGRAM; at--) {
    let length = 0;
    while (length < MAX_NGRAM && length <= at && text[at - length] === text[last - length]) {
      length++;
    }
    if (length <= longest) continue;
    longest = length;
    tokenId = text[at + 1] ?? -1;
  }
  return longest === 0 ? null : { tokenId, kind: longest };
}

function likelier(
  a: Guess | null,
  b: Guess | null,
  rateOf: (kind: number) => number,
): Guess | null {
  if (a === null || b === null) return a ?? b;
  return rateOf(a.kind) >= rateOf(b.kind) ? a : b;
}
