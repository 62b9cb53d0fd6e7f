/** Log-probabilities of single tokens, out of the engine's packed arrays. */
import type { Logprobs } from '../../engine/request.ts';

export interface TokenLogprob {
  readonly tokenId: number;
  /** 0 or less; -Infinity for a token that the model holds to be impossible. */
  readonly logprob: number;
  /** 1 for the likeliest. */
  readonly rank: number;
  /** The likeliest tokens at this place, in order. */
  readonly top: readonly { readonly tokenId: number; readonly logprob: number }[];
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
  const top: { tokenId: number; logprob: number }[] = [];
  for (let index = start + 1; index < start + width; index++) {
    const tokenId = tokenIds[index] ?? -1;
    // A vocabulary may have fewer tokens than were asked for.
    if (tokenId >= 0) top.push({ tokenId, logprob: logprobs[index] ?? 0 });
  }
  return {
    tokenId: tokenIds[start] ?? -1,
    logprob: logprobs[start] ?? 0,
    rank: ranks[position] ?? 0,
    top,
    ...place,
  };
}
