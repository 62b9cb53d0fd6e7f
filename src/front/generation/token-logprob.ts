/** Log-probabilities of single tokens, out of the engine's packed arrays. */
import type { Logprobs } from '../../engine/request.ts';

export interface TokenValue {
  readonly tokenId: number;
  /** 0 or less; -Infinity for a token that the model holds to be impossible. */
  readonly logprob: number;
}

/** Tokens in order, in packed arrays: answers may have twenty for each of theirs, and wait to be read. */
export class TopTokens implements Iterable<TokenValue> {
  readonly length: number;
  readonly #tokenIds: readonly number[];
  readonly #logprobs: readonly number[];
  readonly #start: number;

  /** @param start where they begin in both arrays, which may hold those of other places too */
  constructor(
    tokenIds: readonly number[],
    logprobs: readonly number[],
    start = 0,
    length = tokenIds.length - start,
  ) {
    this.#tokenIds = tokenIds;
    this.#logprobs = logprobs;
    this.#start = start;
    this.length = length;
  }

  /** At most so many of them. */
  first(count: number): TokenValue[] {
    return Array.from({ length: Math.min(count, this.length) }, (_, index) => ({
      tokenId: this.#tokenIds[this.#start + index] ?? -1,
      logprob: this.#logprobs[this.#start + index] ?? 0,
    }));
  }

  [Symbol.iterator](): Iterator<TokenValue> {
    return this.first(this.length)[Symbol.iterator]();
  }
}

export interface TokenLogprob extends TokenValue {
  /** 1 for the likeliest. */
  readonly rank: number;
  /** The likeliest tokens at this place, in order. */
  readonly top: TopTokens;
  /** Where in its text the token begins, in characters (Unicode code points). */
  readonly textOffset: number;
  /** False for a token that adds nothing to the text: a special token, or the one that ended it. */
  readonly isShown: boolean;
}

/** Fields of a token that its text's detokenizer knows. */
export type TokenPlace = Pick<TokenLogprob, 'textOffset' | 'isShown'>;

/** @returns the entry at a position of `logprobs` */
export function tokenLogprobAt(
  { tokenIds, logprobs, ranks }: Logprobs,
  position: number,
  place: TokenPlace,
): TokenLogprob {
  const width = tokenIds.length / ranks.length;
  const start = position * width;
  const topIds: number[] = [];
  const topLogprobs: number[] = [];
  for (let index = start + 1; index < start + width; index++) {
    const tokenId = tokenIds[index] ?? -1;
    // A vocabulary may have fewer tokens than were asked for.
    if (tokenId < 0) continue;
    topIds.push(tokenId);
    topLogprobs.push(logprobs[index] ?? 0);
  }
  return {
    tokenId: tokenIds[start] ?? -1,
    logprob: logprobs[start] ?? 0,
    rank: ranks[position] ?? 0,
    top: new TopTokens(topIds, topLogprobs),
    ...place,
  };
}
