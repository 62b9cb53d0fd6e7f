import type { Vocabulary } from './vocabulary.ts';

const SPACE = '▁';

/**
 * Merges in the order that SentencePiece takes them: the pair whose whole has the best score first.
 * A part need not be a token if it is a single character.
 */
export function mergesByScore(
  { tokens, ids, isText }: Pick<Vocabulary, 'tokens' | 'ids' | 'isText'>,
  scores: ArrayLike<number>,
): [string, string][] {
  const byScore = Array.from(tokens.keys())
    .filter(isText)
    .toSorted((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
  const isPart = (part: string) => {
    const id = ids.get(part);
    return id === undefined ? /^.$/su.test(part) : isText(id);
  };
  return byScore.flatMap((id) => {
    const token = tokens[id] ?? '';
    const pairs: [string, string][] = [];
    let cut = 0;
    for (const character of token) {
      cut += character.length;
      if (cut === token.length) break;
      const [left, right] = [token.slice(0, cut), token.slice(cut)];
      if (isPart(left) && isPart(right)) pairs.push([left, right]);
    }
    return pairs;
  });
}

/** Where a space comes first that the text does not have: nowhere, in the text, or after each special token too. */
export type SpacePrefix = 'never' | 'first' | 'always';

/** Steps before and after tokenizing: a space becomes a letter, and one may come first. */
export function spaceSteps(prefix: SpacePrefix) {
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: SPACE };
  const back = { type: 'Replace', pattern: { String: SPACE }, content: ' ' };
  const strip = { type: 'Strip', content: ' ', start: 1, stop: 0 };
  const hasPrefix = prefix !== 'never';
  const decoders = [
    back,
    { type: 'ByteFallback' },
    { type: 'Fuse' },
    ...(hasPrefix ? [strip] : []),
  ];
  const decoder = { type: 'Sequence', decoders };
  if (prefix === 'first') {
    // Also before a space: a text never begins with this replacement, and the library does not look for another.
    const letters = { replacement: '\0', str_rep: SPACE };
    const spaces = { type: 'Metaspace', ...letters, prepend_scheme: prefix, split: false };
    return { normalizer: null, pre_tokenizer: spaces, decoder };
  }
  const prepend = { type: 'Prepend', prepend: SPACE };
  return {
    normalizer: hasPrefix ? { type: 'Sequence', normalizers: [prepend, replace] } : replace,
    pre_tokenizer: null,
    decoder,
  };
}
