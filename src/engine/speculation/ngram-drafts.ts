import type { Draft, DraftSource } from './draft-source.ts';
import { isEmbedding } from '../prompt-embeddings.ts';
import { type Continuation, hashSalt, NgramHistory } from './ngram-history.ts';
import type { Sequence } from '../sequence.ts';

/** The longest end of the text that is looked up in the text itself. */
const MAX_NGRAM = 4;
/**
 * Prior acceptance rates of guesses from the text, by the length of the match, then for matches of the
 * whole output of 1 to 3 tokens.
 */
const TEXT_RATES = [0, 0.3, 0.5, 0.75, 0.8, 0.5, 0.7, 0.8];
/** Prior acceptance rates of guesses from other texts, by their streak. */
const HISTORY_RATES = [0.2, 0.4, 0.7, 0.9];
/** A draft ends where it would hardly come true any more. */
const MIN_CHANCE = 0.1;
const NOTHING: Draft = { tokenIds: new Int32Array(), kinds: [] };

const RELATIONS = ['same', 'text', 'history'] as const;
/** Sources of a guess: one alone, both, or the one named where they disagree. */
type Relation = (typeof RELATIONS)[number];

/** Evidence for a guess; as a number, its kind. */
interface Evidence {
  /** Index into TEXT_RATES; 0 for no match in the text. */
  readonly text: number;
  /** One more than the order of the match in other texts; 0 for none. */
  readonly history: number;
  /** Streak of the match in other texts. */
  readonly streak: number;
  readonly relation: Relation;
}

interface TextMatch {
  readonly tokenId: number;
  /** Index into TEXT_RATES. */
  readonly text: number;
}

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
 * Drafts from texts: what followed the last time the same tokens came, in the sequence's own text
 * (prompt lookup) or in recent ones. They are right where a text repeats its prompt, itself, or the
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
    const { text, history, streak, relation } = evidenceOf(kind);
    const ofText = TEXT_RATES[text] ?? 0;
    const ofHistory = history === 0 ? 0 : (HISTORY_RATES[streak] ?? 0);
    if (relation === 'text') return ofText * (1 - ofHistory / 2);
    if (relation === 'history') return ofHistory * (1 - ofText / 2);
    return 1 - (1 - ofText) * (1 - ofHistory);
  }

  /** @param begun what the draft begins with, at most `numTokens` */
  draft(
    sequence: Sequence,
    numTokens: number,
    rateOf: (kind: number) => number,
    begun = NOTHING,
  ): Draft {
    const salt = this.#follow(sequence);
    const { stopTokenIds } = sequence.request;
    const { numPromptTokens, numTokens: start } = sequence;
    const text = new Int32Array(start + numTokens);
    text.set(sequence.tokenIds());
    text.set(begun.tokenIds, start);
    const kinds = [...begun.kinds];
    let chance = kinds.reduce((product, kind) => product * rateOf(kind), 1);
    for (let end = start + kinds.length; end < text.length; end++) {
      const match = findInText(text, end, end - numPromptTokens);
      const guess = likeliest(match, this.#history.find(salt, text, end), rateOf);
      if (guess === null) break;
      text[end] = guess.tokenId;
      kinds.push(guess.kind);
      chance *= rateOf(guess.kind);
      // Nothing comes after a token that ends the text.
      if (chance < MIN_CHANCE || stopTokenIds.includes(guess.tokenId)) break;
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
}

/**
 * Finds the token that followed the latest of the longest matches with the end of the first `end`
 * tokens. A match with the whole output, however short, has a kind of its own: nothing contradicts it
 * yet.
 */
function findInText(text: Int32Array, end: number, numOutputTokens: number): TextMatch | null {
  const last = end - 1;
  let longest = 0;
  let tokenId = -1;
  for (let at = last - 1; at >= 0 && longest < MAX_NGRAM; at--) {
    let length = 0;
    while (length < MAX_NGRAM && length <= at && text[at - length] === text[last - length]) {
      length++;
    }
    const next = text[at + 1] ?? -1;
    if (length <= longest || isEmbedding(next)) continue;
    longest = length;
    tokenId = next;
  }
  if (longest === 0) return null;
  const isWhole = numOutputTokens > 0 && numOutputTokens < MAX_NGRAM && longest >= numOutputTokens;
  return { tokenId, text: isWhole ? MAX_NGRAM + numOutputTokens : longest };
}

/** Where both sources know something and disagree, the one that has been right more often. */
function likeliest(
  match: TextMatch | null,
  elsewhere: Continuation | null,
  rateOf: (kind: number) => number,
): Guess | null {
  const text = match?.text ?? 0;
  const history = elsewhere === null ? 0 : 1 + elsewhere.order;
  const streak = elsewhere?.streak ?? 0;
  const guess = (tokenId: number, relation: Relation): Guess => ({
    tokenId,
    kind: kindOf({ text, history, streak, relation }),
  });
  if (match === null) return elsewhere && guess(elsewhere.tokenId, 'same');
  if (elsewhere === null || elsewhere.tokenId === match.tokenId)
    return guess(match.tokenId, 'same');
  const [a, b] = [guess(match.tokenId, 'text'), guess(elsewhere.tokenId, 'history')];
  return rateOf(a.kind) >= rateOf(b.kind) ? a : b;
}

function kindOf({ text, history, streak, relation }: Evidence): number {
  const found = (text * (NgramHistory.numOrders + 1) + history) * NgramHistory.numStreaks + streak;
  return found * RELATIONS.length + RELATIONS.indexOf(relation);
}

function evidenceOf(kind: number): Evidence {
  const found = Math.floor(kind / RELATIONS.length);
  const matches = Math.floor(found / NgramHistory.numStreaks);
  return {
    text: Math.floor(matches / (NgramHistory.numOrders + 1)),
    history: matches % (NgramHistory.numOrders + 1),
    streak: found % NgramHistory.numStreaks,
    relation: RELATIONS[kind % RELATIONS.length] ?? 'same',
  };
}
