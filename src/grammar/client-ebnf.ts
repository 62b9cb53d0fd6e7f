/** Grammars as clients write them, in EBNF. */
import { characterClass } from './character-class.ts';
import { uncounted } from './counted-text.ts';
import { type CharacterRange, codeOfEscape, EBNF_TEXTS, tooLong } from './ebnf.ts';
import { LIMITS } from '../limits.ts';

const TEXTS = new RegExp(EBNF_TEXTS, 'g');

const ITEM = /\\x[\dA-Fa-f]{2}|\\u[\dA-Fa-f]{4}|\\U[\dA-Fa-f]{8}|\\[nrt"'\\\]^-]|[^\\]/uy;

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
  const negated = part.startsWith('[^');
  const ranges = rangesOf(part.slice(negated ? 2 : 1, -1));
  const isWide = ranges?.some(([, to]) => to > 0x7f) ?? false;
  return ranges === null || !isWide ? part : characterClass(ranges, negated);
}

function rangesOf(text: string): CharacterRange[] | null {
  const codes: { readonly code: number; readonly isDash: boolean }[] = [];
  ITEM.lastIndex = 0;
  while (ITEM.lastIndex < text.length) {
    const [item] = ITEM.exec(text) ?? [];
    if (item === undefined) return null;
    codes.push({ code: codeOfEscape(item), isDash: item === '-' });
  }
  const ranges: CharacterRange[] = [];
  for (let index = 0; index < codes.length; index++) {
    const { code } = codes[index] ?? { code: 0 };
    const last = codes[index + 1]?.isDash === true ? codes[index + 2] : undefined;
    if (last !== undefined && last.code < code) return null;
    ranges.push([code, last?.code ?? code]);
    if (last !== undefined) index += 2;
  }
  return ranges;
}
