import type { CharacterRange } from './ebnf.ts';
import { GrammarError } from './grammar-spec.ts';
import type { CharacterRules } from './regex-tree.ts';

const MAX_ASCII = 0x7f;
/** Some libraries take these for an `i`, an `s` or a `k` of the other case. */
const DISPUTED: readonly CharacterRange[] = [
  [0x130, 0x131],
  [0x17f, 0x17f],
  [0x212a, 0x212a],
];

/** The same characters in lower and upper case. */
export function ignoringCase(characters: CharacterRules): CharacterRules {
  return {
    text: (text) =>
      Array.from(text, (character) => {
        const code = character.codePointAt(0) ?? 0;
        return characters.class(bothCases([code, code]), false);
      }).join(' '),
    class: (ranges, negated) => {
      const both = ranges.flatMap(bothCases);
      return characters.class(negated ? [...both, ...DISPUTED] : both, negated);
    },
  };
}

function bothCases([from, to]: CharacterRange): CharacterRange[] {
  if (from === to) {
    const character = String.fromCodePoint(from);
    const cases = [character, character.toLowerCase(), character.toUpperCase()];
    const codes = cases.flatMap((each) => {
      const [only, ...more] = Array.from(each);
      return more.length === 0 && only !== undefined ? [only.codePointAt(0) ?? 0] : [];
    });
    return [...new Set(codes)].map((code) => [code, code]);
  }
  if (to > MAX_ASCII) {
    throw new GrammarError('a range of characters beyond ASCII cannot ignore case');
  }
  const shifted = (low: number, high: number, by: number): CharacterRange[] => {
    const [first, last] = [Math.max(from, low), Math.min(to, high)];
    return first <= last ? [[first + by, last + by]] : [];
  };
  return [[from, to], ...shifted(0x41, 0x5a, 0x20), ...shifted(0x61, 0x7a, -0x20)];
}
