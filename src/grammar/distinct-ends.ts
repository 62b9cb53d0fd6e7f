/**
 * Keeps xgrammar 0.1.27 from taking texts that a grammar does not have: of `"xyd" | "abc" | "abd"` it takes `xyc` too.
 * It merges states that alternatives come to by the same bytes, and at once states from which they go on in the same
 * way, where only one of the two may be done (mended in its 0.2.1, mlc-ai/xgrammar#632, of which npm has no build). So
 * alternatives that may begin alike get ends of their own here, rules without a text: from there no two go on alike.
 */
import { type Part, readEbnf } from './ebnf-tree.ts';
import { GrammarFirsts } from './first-bytes.ts';

type Insertion = readonly [place: number, text: string];

/** @returns a grammar of the same texts; one that can't be read is left as it is, for xgrammar to refuse */
export function withDistinctEnds(ebnf: string): string {
  const rules = readEbnf(ebnf);
  if (rules === null) return ebnf;
  const firsts = new GrammarFirsts(rules);
  const name = unusedName(ebnf);
  const insertions: Insertion[] = [];
  let numEnds = 0;
  for (const { choices } of rules.values()) {
    // Groups of a rule may come to be one choice, but rules that name others stay rules.
    let end = 0;
    for (const choice of choices.filter((each) => firsts.overlap(each))) {
      for (const { parts, start, end: behind } of choice.alternatives) {
        const [first] = parts;
        if (first === undefined || (parts.length === 1 && isNoText(first))) continue;
        // A rule or group in the first place is written out there, which would give several alternatives the same end.
        if (first.kind !== 'text') insertions.push([start, `${name}0 `]);
        insertions.push([behind, ` ${name}${++end}`]);
      }
    }
    numEnds = Math.max(numEnds, end);
  }
  if (numEnds === 0) return ebnf;
  const ends = Array.from({ length: numEnds + 1 }, (_, at) => `${name}${at} ::= ""\n`);
  return `${inserted(ebnf, insertions)}\n${ends.join('')}`;
}

function isNoText(part: Part): boolean {
  return part.kind === 'text' && part.text === '""';
}

/** Beginning of the names of rules without a text: no name of the grammar has it before a digit. */
function unusedName(ebnf: string): string {
  const used = new Set(Array.from(ebnf.matchAll(/e(_*)\d/g), ([, lines = '']) => lines.length));
  let length = 0;
  while (used.has(length)) length++;
  return `e${'_'.repeat(length)}`;
}

function inserted(text: string, insertions: readonly Insertion[]): string {
  const pieces: string[] = [];
  let from = 0;
  for (const [place, what] of insertions.toSorted(([a], [b]) => a - b)) {
    pieces.push(text.slice(from, place), what);
    from = place;
  }
  pieces.push(text.slice(from));
  return pieces.join('');
}
