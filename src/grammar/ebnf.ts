/** The parts of EBNF texts as xgrammar reads them. */
import { LIMITS } from '../limits.ts';
import { GrammarError } from './grammar-spec.ts';

/** Between the members and items of JSON. */
export const COMMA = '", "';

/** First and last code point. */
export type CharacterRange = readonly [from: number, to: number];

/** Literals, character classes and comments of a grammar's text, to its end where one has none. */
export const EBNF_TEXTS = String.raw`"(?:\\.|[^"\\])*(?:"|$)|\[(?:\\.|[^\]\\])*(?:\]|$)|#[^\n]*`;

/** `text` as a literal. */
export function literal(text: string): string {
  const codes = Array.from(text, (character) => escapeCode(character.codePointAt(0) ?? 0));
  return `"${codes.join('')}"`;
}

/** Escapes all but letters and digits: no character has a meaning of its own then. */
export function escapeCode(code: number): string {
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

export function tooLong(): GrammarError {
  return new GrammarError(`the grammar has more than ${LIMITS.grammarEbnfCharacters} characters`);
}

/** Expressions up to this length are written out in each place; a longer one has a rule. */
const MAX_INLINE = 40;

/** Collects the rules of one grammar. */
export class EbnfRules {
  readonly #rules = new Map<string, string>();
  /** By expression: equal ones share a rule. */
  readonly #names = new Map<string, string>();
  #length = 0;
  #numNames = 0;

  /** A fresh name, for a rule that is set later. */
  reserve(): string {
    return `r${this.#numNames++}`;
  }

  /** @throws GrammarError when the grammar becomes too large. */
  set(name: string, expression: string): void {
    this.#length += expression.length;
    if (this.#length > LIMITS.grammarEbnfCharacters) throw tooLong();
    this.#rules.set(name, expression);
    if (this.#rules.size <= LIMITS.grammarRules) return;
    throw new GrammarError(`the grammar has more than ${LIMITS.grammarRules} rules`);
  }

  /** A rule for `expression`. @returns its name */
  add(expression: string): string {
    const known = this.#names.get(expression);
    if (known !== undefined) return known;
    const name = this.reserve();
    this.set(name, expression);
    this.#names.set(expression, name);
    return name;
  }

  /** The expression, or the name of a rule for it: short enough to be used in many places. */
  shorten(expression: string): string {
    return expression.length <= MAX_INLINE ? expression : this.add(expression);
  }

  toString(): string {
    return [...this.#rules].map(([name, expression]) => `${name} ::= ${expression}\n`).join('');
  }
}

/** A grammar of the given texts and no other. */
export function choiceEbnf(choices: readonly string[]): string {
  return `root ::= ${anyOf([...new Set(choices)].map(literal))}\n`;
}
