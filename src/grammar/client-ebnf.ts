/** Grammars as clients write them, in EBNF. */
import { characterClass } from './character-class.ts';
import { uncounted } from './counted-text.ts';
import { rangesOfClass } from './class-ranges.ts';
import { EBNF_TEXTS, tooLong } from './ebnf.ts';
import { LIMITS } from '../limits.ts';

const TEXTS = new RegExp(EBNF_TEXTS, 'g');

/**
 * The same grammar, with classes of characters beyond ASCII as xgrammar reads them.
 * @throws GrammarError when a class has no characters, or the grammar becomes too large
 */
export function clientEbnf(ebnf: string): string {
  let length = ebnf.length;
  const written = ebnf.replaceAll(TEXTS, (part) => {
    if (!part.startsWith('[')) return part;
    const replaced = rewritten(part);
    length += replaced.length - part.length;
    if (length > LIMITS.grammarEbnfCharacters) throw tooLong();
    return replaced;
  });
  return uncounted(written);
}

/** A class that can't be read is left as it is, for xgrammar to refuse. */
function rewritten(part: string): string {
  const read = rangesOfClass(part);
  const isWide = read?.ranges.some(([, to]) => to > 0x7f) ?? false;
  return read === null || !isWide ? part : characterClass(read.ranges, read.isNegated);
}
