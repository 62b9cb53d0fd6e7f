/** Reads the characters of literals and classes of a grammar's text. */
import type { CharacterRange } from './ebnf.ts';

const ITEM = /\\x[\dA-Fa-f]{2}|\\u[\dA-Fa-f]{4}|\\U[\dA-Fa-f]{8}|\\[nrt"'\\\]^-]|[^\\]/uy;
const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' };

/** @param item a character, or an escaped one @returns its code point */
function codeOfEscape(item: string): number {
  if (/^\\[xuU]/.test(item)) return Number.parseInt(item.slice(2), 16);
  const character = item.startsWith('\\') ? item.slice(1) : item;
  const meant = item.startsWith('\\') ? (CONTROLS[character] ?? character) : character;
  return meant.codePointAt(0) ?? 0;
}

/** @param text of a literal or a class @param start of an item @returns null where none can be read */
function itemAt(text: string, start: number): string | null {
  ITEM.lastIndex = start;
  return ITEM.exec(text)?.[0] ?? null;
}

/** @param text a literal @returns its first code point; null for one without, or that can't be read */
export function firstOfLiteral(text: string): number | null {
  const item = itemAt(text.slice(0, -1), 1);
  return item === null ? null : codeOfEscape(item);
}

export interface ClassRanges {
  readonly ranges: readonly CharacterRange[];
  readonly isNegated: boolean;
}

/** @param text such as `[^a-z]` @returns null for one that can't be read */
export function rangesOfClass(text: string): ClassRanges | null {
  const isNegated = text.startsWith('[^');
  const ranges = rangesIn(text.slice(isNegated ? 2 : 1, -1));
  return ranges && { ranges, isNegated };
}

function rangesIn(text: string): CharacterRange[] | null {
  const codes: { readonly code: number; readonly isDash: boolean }[] = [];
  for (let start = 0; start < text.length;) {
    const item = itemAt(text, start);
    if (item === null) return null;
    codes.push({ code: codeOfEscape(item), isDash: item === '-' });
    start += item.length;
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
