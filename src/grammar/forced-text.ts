import type { TokenMatcher } from './counted-matcher.ts';

/**
 * The text that a grammar forces, as far as the vocabulary shows. The matcher is in the same state
 * afterwards. Its own search has no bound, and some grammars force an endless text.
 * @param tokens see GrammarVocabulary
 * @param mask what is allowed where the matcher is
 * @param maxTokens of the longest that the text can be put together from
 */
export async function forcedText(
  matcher: TokenMatcher,
  tokens: readonly string[],
  mask: Int32Array,
  maxTokens: number,
): Promise<string> {
  let text = '';
  let numAccepted = 0;
  let next = onlyWayOn(tokens, mask);
  while (next !== -1 && matcher.acceptToken(next)) {
    text += tokens[next] ?? '';
    if (++numAccepted === maxTokens) break;
    next = onlyWayOn(tokens, await matcher.getNextTokenBitmask());
  }
  if (numAccepted > 0) matcher.rollBack(numAccepted);
  return text;
}

/** The longest of the allowed tokens, if the others are beginnings of it; otherwise -1. */
function onlyWayOn(tokens: readonly string[], mask: Int32Array): number {
  let longest = -1;
  let text = '';
  for (const [index, word] of mask.entries()) {
    for (let left = word; left !== 0; left &= left - 1) {
      const id = index * 32 + 31 - Math.clz32(left & -left);
      const token = tokens[id] ?? '';
      // The text may end here.
      if (token === '') return -1;
      if (token.startsWith(text)) [longest, text] = [id, token];
      else if (!text.startsWith(token)) return -1;
    }
  }
  return longest;
}
