import type { TextTokenizer } from './tokenizer.ts';

/**
 * The token sequences of words that must not be generated, at the start of a text and within one:
 * without a space in front, and with one where that changes the first token and adds no token (as
 * in vLLM).
 */
export function encodeBadWords(
  tokenizer: Pick<TextTokenizer, 'encode'>,
  words: readonly string[],
): Int32Array[] {
  return words.flatMap((word) => {
    const text = word.trimStart() || word;
    const bare = tokenizer.encode(text, { addSpecialTokens: false });
    const spaced = tokenizer.encode(` ${text}`, { addSpecialTokens: false });
    const isOther = spaced[0] !== bare[0] && spaced.length === bare.length;
    return [bare, ...(isOther ? [spaced] : [])].filter(({ length }) => length > 0);
  });
}
