/** The parts of EBNF texts as xgrammar reads them. */
import { GrammarError } from './grammar-spec.ts';

/** A grammar this long would take minutes to compile. */
const MAX_EBNF_LENGTH = 400_000;

/** First and last code point. */
export type CharacterRange = readonly [from: number, to: number];

/** `text` as a literal. */
export function literal(text: string): string {
  const codes = Array.from(text, (character) => escape(character.codePointAt(0) ?? 0));
  return `"${codes.join('')}"`;
}

/** One character within the ranges, or outside of all. */
export function characterClass(ranges: readonly CharacterRange[], negated: boolean): string {
  const inside = ranges.map(([from, to]) =>
    from === to ? escape(from) : `${escape(from)}-${escape(to)}`,
  );
  return `[${negated ? '^' : ''}${inside.join('')}]`;
}

/** Escapes all but letters and digits: no character has a meaning of its own then. */
function escape(code: number): string {
  const character = String.fromCodePoint(code);
  if (/[A-Za-z0-9]/.test(character)) return character;
  const hex = code.toString(16);
  return code > 0xffff ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
}

/** Between `min` and `max` times; a null `max` has no end. */
export function repeat(expression: string, min: number, max: number | null): string {
  if (max === null && min === 0) return `(${expression})*`;
  if (min === 1 && max === 1) return expression;
  if (max === 0) return '""';
  return `(${expression}){${min},${max ?? ''}}`;
}

export function anyOf(alternatives: readonly string[]): string {
  return alternatives.length === 1 ? (alternatives[0] ?? '""') : `(${alternatives.join(' | ')})`;
}

/** Collects the rules of one grammar. */
export class EbnfRules {
  readonly #rules = new Map<string, string>();
  #length = 0;

  has(name: string): boolean {
    return this.#rules.has(name);
  }

  /** @throws GrammarError when the grammar becomes too large. */
  set(name: string, expression: string): void {
    this.#length += expression.length;
    if (this.#length > MAX_EBNF_LENGTH) throw new GrammarError('the grammar is too large');
    this.#rules.set(name, expression);
  }

  /** A rule under a fresh name. @returns the name */
  add(expression: string): string {
    const name = `r${this.#rules.size}`;
    this.set(name, expression);
    return name;
  }

  toString(): string {
    return [...this.#rules].map(([name, expression]) => `${name} ::= ${expression}\n`).join('');
  }
}

/** A grammar of the given texts and no other. */
export function choiceEbnf(choices: readonly string[]): string {
  return `root ::= ${anyOf(choices.map(literal))}\n`;
}
