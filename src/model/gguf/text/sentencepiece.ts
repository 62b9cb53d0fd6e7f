import type { GgufVocabulary } from './gguf-vocabulary.ts';

const SPACE = '▁';

/**
 * Merges in the order that SentencePiece takes them: the pair whose whole has the best score first.
 * A part need not be a token if it is a single character.
 */
export function mergesByScore(
  { tokens, ids, isText }: Pick<GgufVocabulary, 'tokens' | 'ids' | 'isText'>,
  scores: Float64Array,
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

/** Steps before and after tokenizing: a space becomes a letter, and one may come first. */
export function spaceSteps(hasPrefix: boolean) {
  const replace = { type: 'Replace', pattern: { String: ' ' }, content: SPACE };
  const back = { type: 'Replace', pattern: { String: SPACE }, content: ' ' };
  const strip = { type: 'Strip', content: ' ', start: 1, stop: 0 };
  return {
    normalizer: hasPrefix
      ? { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: SPACE }, replace] }
      : replace,
    decoder: {
      type: 'Sequence',
      decoders: [back, { type: 'ByteFallback' }, { type: 'Fuse' }, ...(hasPrefix ? [strip] : [])],
    },
  };
}
