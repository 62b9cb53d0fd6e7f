/** Text of tokens, which may be parts of characters. */
import type { Token, TokenChoice } from './types.ts';

export interface TokenPiece {
  readonly text: string;
  /** First and last of the tokens that spell it: more than one share a character. */
  readonly from: number;
  readonly to: number;
}

/** Tokens by their texts; those that share a character are one piece. */
export function piecesOf(tokens: readonly Pick<Token, 'bytes'>[]): TokenPiece[] {
  const pieces: TokenPiece[] = [];
  let decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let from = 0;
  tokens.forEach(({ bytes }, index) => {
    const text = decoder.decode(Uint8Array.from(bytes), { stream: true });
    if (text === '' && bytes.length > 0 && index < tokens.length - 1) return;
    const rest = index === tokens.length - 1 ? decoder.decode() : '';
    if (rest !== '') decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    pieces.push({ text: text + rest, from, to: index });
    from = index + 1;
  });
  return pieces;
}

/**
 * The text up to a token, with another one in its place.
 * @returns without the part of a character at its end, if there is one
 */
export function textWith(
  tokens: readonly Pick<Token, 'bytes'>[],
  index: number,
  choice: Pick<TokenChoice, 'bytes'>,
): string {
  const bytes = [...tokens.slice(0, index).flatMap((token) => token.bytes), ...choice.bytes];
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  return decoder.decode(Uint8Array.from(bytes), { stream: true });
}

/** @param logprob natural logarithm */
export function percent(logprob: number): string {
  const share = Math.exp(logprob) * 100;
  if (share >= 99.95) return '100%';
  return share < 0.1 ? '<0.1%' : `${share.toFixed(1)}%`;
}
