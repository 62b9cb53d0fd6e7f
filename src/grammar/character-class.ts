/**
 * Sets of characters as xgrammar reads them. It takes what `[...]` names for single bytes, and what
 * `[^...]` names beyond ASCII for nothing. So characters beyond ASCII are written byte by byte, as UTF-8
 * has them, unless all of them are meant.
 */
import { anyOf, type CharacterRange, escapeCode, literal } from './ebnf.ts';
import { GrammarError } from './grammar-spec.ts';

const MAX_ASCII = 0x7f;
const MAX_CODE = 0x10ffff;
const SURROGATES: CharacterRange = [0xd800, 0xdfff];
/** Greatest code points of one, two and three bytes, and of four. */
const LAST_OF_LENGTH = [MAX_ASCII, 0x7ff, 0xffff, MAX_CODE];

/**
 * One character within the ranges, or outside of all.
 * @throws GrammarError when there is none
 */
export function characterClass(ranges: readonly CharacterRange[], negated: boolean): string {
  const outside = negated ? ranges : complementOf(ranges);
  const inside = complementOf([...outside, SURROGATES]);
  const ascii = inside.flatMap((range) => clip(range, 0, MAX_ASCII));
  const wide = inside.flatMap((range) => clip(range, MAX_ASCII + 1, MAX_CODE));
  if (isAllWide(wide)) {
    return bracketed(
      '^',
      complementOf(ascii).flatMap((range) => clip(range, 0, MAX_ASCII)),
    );
  }
  const parts = wide.map(wideEbnf);
  if (ascii.length > 0) parts.unshift(bracketed('', ascii));
  if (parts.length === 0) throw new GrammarError('a class has no characters');
  return anyOf(parts);
}

function isAllWide(wide: readonly CharacterRange[]): boolean {
  const [first, second] = wide;
  return (
    wide.length === 2 &&
    first?.[0] === MAX_ASCII + 1 &&
    first[1] === SURROGATES[0] - 1 &&
    second?.[0] === SURROGATES[1] + 1 &&
    second[1] === MAX_CODE
  );
}

/** Code points outside of all ranges, ascending, in ranges that don't touch. */
function complementOf(ranges: readonly CharacterRange[]): CharacterRange[] {
  const gaps: CharacterRange[] = [];
  let next = 0;
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (from > next) gaps.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= MAX_CODE) gaps.push([next, MAX_CODE]);
  return gaps;
}

function clip([from, to]: CharacterRange, low: number, high: number): CharacterRange[] {
  const [first, last] = [Math.max(from, low), Math.min(to, high)];
  return first <= last ? [[first, last]] : [];
}

function bracketed(start: '' | '^', ranges: readonly CharacterRange[]): string {
  const inside = ranges.map(([from, to]) =>
    from === to ? escapeCode(from) : `${escapeCode(from)}-${escapeCode(to)}`,
  );
  return `[${start}${inside.join('')}]`;
}

/** Characters beyond ASCII, without surrogates. */
function wideEbnf([from, to]: CharacterRange): string {
  if (from === to) return literal(String.fromCodePoint(from));
  const sequences: string[] = [];
  let start = from;
  for (const last of LAST_OF_LENGTH) {
    if (start > last || start > to) continue;
    const end = Math.min(last, to);
    sequences.push(...evenRanges(start, end).map(bytesEbnf));
    start = end + 1;
  }
  return anyOf(sequences);
}

/** Parts of a range whose code points are all combinations of their bytes. */
function evenRanges(from: number, to: number): CharacterRange[] {
  for (const bits of [6, 12, 18]) {
    const below = (1 << bits) - 1;
    if ((from | below) === (to | below)) continue;
    if ((from & below) !== 0) {
      return [...evenRanges(from, from | below), ...evenRanges((from | below) + 1, to)];
    }
    if ((to & below) !== below) {
      return [...evenRanges(from, to - (to & below) - 1), ...evenRanges(to - (to & below), to)];
    }
  }
  return [[from, to]];
}

function bytesEbnf([from, to]: CharacterRange): string {
  const last = Buffer.from(String.fromCodePoint(to));
  const bytes = Array.from(Buffer.from(String.fromCodePoint(from)), (byte, index) => {
    // Twice, since one character alone is not taken for a byte.
    return bracketed(
      '',
      byte === last[index]
        ? [
            [byte, byte],
            [byte, byte],
          ]
        : [[byte, last[index] ?? byte]],
    );
  });
  return bytes.length === 1 ? (bytes[0] ?? '') : `(${bytes.join(' ')})`;
}
