import type { TextTokenizer } from './tokenizer.ts';

/**
 * The token sequences that spell words which must not be generated, at the start of a text and within
 * one: without and, where that gives another first token and no more tokens, with a space in front
 * (as in vLLM).
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
