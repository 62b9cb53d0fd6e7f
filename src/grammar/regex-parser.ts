/** Regular expressions, as far as they describe regular languages. */
import type { CharacterRange } from './ebnf.ts';
import { LIMITS } from '../limits.ts';
import { GrammarError } from './grammar-spec.ts';
import { type CharacterRules, type RegexNode, treeToEbnf } from './regex-tree.ts';

const LINE_BREAKS: readonly CharacterRange[] = [
  [0x0a, 0x0a],
  [0x0d, 0x0d],
];
const ANY: CharacterRange = [0, 0x10ffff];
const DIGITS: CharacterRange = [0x30, 0x39];
const SHORTHANDS: Readonly<Record<string, readonly CharacterRange[]>> = {
  d: [DIGITS],
  w: [DIGITS, [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]],
  s: [
    [0x09, 0x0d],
    [0x20, 0x20],
  ],
};

/** Widest reading of the shorthands by any library: a negated class leaves out all of it. */
const WIDEST: typeof SHORTHANDS = {
  d: [DIGITS, [0x80, 0x10ffff]],
  w: [...(SHORTHANDS['w'] ?? []), [0x80, 0x10ffff]],
  s: [
    [0x09, 0x0d],
    [0x1c, 0x20],
    [0x85, 0x85],
    [0xa0, 0xa0],
    // The second is none, but xgrammar cannot take out the first alone.
    [0x1680, 0x1681],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ],
};

const CONTROLS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' };

export interface RegexOptions {
  /** Whether a dot is a line break, too. */
  readonly dotIsAny?: boolean;
  /** Other text may follow, so that it matters how much a lazy repetition takes: there is none then. */
  readonly isPart?: boolean;
}

/**
 * The texts that `pattern` matches from their first to their last character, as an EBNF expression.
 * @throws GrammarError saying what about the pattern is wrong or not supported.
 */
export function regexToEbnf(
  pattern: string,
  characters: CharacterRules,
  options: RegexOptions = {},
): string {
  return treeToEbnf(parseRegex(pattern, options), characters);
}

/** @throws GrammarError saying what about the pattern is wrong or not supported. */
export function parseRegex(pattern: string, options: RegexOptions = {}): RegexNode {
  return new RegexParser(pattern, options).parse();
}

/** A part of the pattern. */
interface Part {
  readonly node: RegexNode;
  /** Characters and classes in it, with its repetitions written out. */
  readonly size: number;
}

class RegexParser {
  readonly #pattern: readonly string[];
  readonly #options: RegexOptions;
  #at = 0;
  #depth = 0;

  constructor(pattern: string, options: RegexOptions) {
    this.#pattern = Array.from(pattern);
    this.#options = options;
  }

  parse(): RegexNode {
    this.#accept('^');
    const { node } = this.#alternatives();
    if (this.#at < this.#pattern.length) throw this.#fault('there is no `(` for this `)`');
    return node;
  }

  #alternatives(): Part {
    // Deeper nesting would overflow the stack.
    if (++this.#depth > LIMITS.grammarDepth) {
      throw this.#fault(`groups are nested too deeply: more than ${LIMITS.grammarDepth} levels`);
    }
    const alternatives = [this.#sequence()];
    while (this.#accept('|')) alternatives.push(this.#sequence());
    this.#depth--;
    const [only, ...more] = alternatives;
    if (only !== undefined && more.length === 0) return only;
    const nodes = alternatives.map(({ node }) => node);
    return this.#bounded({ kind: 'choice', alternatives: nodes }, sizeOf(alternatives));
  }

  #sequence(): Part {
    const items: Part[] = [];
    for (;;) {
      const next = this.#peek();
      if (next === undefined || next === '|' || next === ')') break;
      if (next === '$' && this.#at === this.#pattern.length - 1) {
        this.#at++;
        break;
      }
      items.push(this.#quantified(this.#atom()));
    }
    const [only, ...more] = items;
    if (only !== undefined && more.length === 0) return only;
    return this.#bounded({ kind: 'sequence', items: items.map(({ node }) => node) }, sizeOf(items));
  }

  #atom(): Part {
    return this.#accept('(') ? this.#group() : { node: this.#character(), size: 1 };
  }

  #character(): RegexNode {
    const character = this.#next();
    switch (character) {
      case '[':
        return this.#class();
      case '.':
        if (this.#options.dotIsAny === true)
          return { kind: 'class', ranges: [ANY], negated: false };
        return { kind: 'class', ranges: LINE_BREAKS, negated: true };
      case '\\':
        return this.#escape();
      case '^':
      case '$':
        throw this.#fault(`\`${character}\` is supported at the ends of a pattern only`);
      case '*':
      case '+':
      case '?':
        throw this.#fault(`there is nothing to repeat before \`${character}\``);
      default:
        return { kind: 'text', text: character };
    }
  }

  #group(): Part {
    if (this.#accept('?') && !this.#accept(':')) {
      const named = this.#rest(/^P?<[A-Za-z_]\w*>/);
      if (named === null) throw this.#fault('look-around and flags are not supported');
      this.#at += named.length;
    }
    const part = this.#alternatives();
    if (!this.#accept(')')) throw this.#fault('a `)` is missing');
    return part;
  }

  #class(): RegexNode {
    const negated = this.#accept('^');
    const ranges: CharacterRange[] = [];
    while (!this.#accept(']')) {
      const low = this.#classItem(negated);
      const isRange = this.#peek() === '-' && this.#pattern[this.#at + 1] !== ']';
      if (typeof low !== 'number') {
        ranges.push(...low);
      } else if (isRange) {
        this.#at++;
        const high = this.#classItem(negated);
        if (typeof high !== 'number' || low > high) {
          throw this.#fault('a range of characters is out of order');
        }
        ranges.push([low, high]);
      } else {
        ranges.push([low, low]);
      }
    }
    if (ranges.length === 0) throw this.#fault('a class of characters is empty');
    return { kind: 'class', ranges, negated };
  }

  /** A character's code point, or the ranges of a shorthand such as `\\d`. */
  #classItem(negated: boolean): number | readonly CharacterRange[] {
    let character = this.#next();
    if (character === '\\') {
      const shorthand = (negated ? WIDEST : SHORTHANDS)[this.#peek() ?? ''];
      if (shorthand !== undefined) {
        this.#at++;
        return shorthand;
      }
      character = this.#accept('b') ? '\b' : this.#escapedCharacter();
    }
    return character.codePointAt(0) ?? 0;
  }

  #escape(): RegexNode {
    const letter = this.#peek() ?? '';
    const negated = letter !== letter.toLowerCase();
    const shorthand = (negated ? WIDEST : SHORTHANDS)[letter.toLowerCase()];
    if (shorthand === undefined) return { kind: 'text', text: this.#escapedCharacter() };
    this.#at++;
    return { kind: 'class', ranges: shorthand, negated };
  }

  #escapedCharacter(): string {
    const letter = this.#next();
    const control = CONTROLS[letter];
    if (control !== undefined) return control;
    if (letter === 'x' || letter === 'u') {
      const digits = this.#rest(letter === 'x' ? /^[\da-fA-F]{2}/ : /^[\da-fA-F]{4}/);
      if (digits === null) throw this.#fault(`\`\\${letter}\` needs hexadecimal digits`);
      this.#at += digits.length;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    if (/[A-Za-z0-9]/.test(letter)) throw this.#fault(`\`\\${letter}\` is not supported`);
    return letter;
  }

  #quantified(atom: Part): Part {
    const range = this.#range();
    if (range === null) return atom;
    // Lazy or greedy makes no difference to what matches as a whole.
    if (this.#accept('?') && this.#options.isPart === true) {
      throw this.#fault('lazy repetitions are not supported here');
    }
    const [min, max] = range;
    if (max !== null && max < min)
      throw this.#fault('the numbers of a repetition are out of order');
    // Nested repetitions multiply.
    const size = atom.size * Math.max(1, min, max ?? 0);
    return this.#bounded({ kind: 'repeat', item: atom.node, min, max }, size);
  }

  #bounded(node: RegexNode, size: number): Part {
    if (size <= LIMITS.grammarRegexSize) return { node, size };
    const limit = LIMITS.grammarRegexSize;
    throw this.#fault(`with its repetitions it comes to more than ${limit} characters`);
  }

  #range(): [number, number | null] | null {
    if (this.#accept('*')) return [0, null];
    if (this.#accept('+')) return [1, null];
    if (this.#accept('?')) return [0, 1];
    const braces = this.#rest(/^\{\d{1,9}(,\d{0,9})?\}/);
    if (braces === null) return null;
    this.#at += braces.length;
    const [min = '', max] = braces.slice(1, -1).split(',');
    if (max === undefined) return [Number(min), Number(min)];
    return [Number(min), max === '' ? null : Number(max)];
  }

  #peek(): string | undefined {
    return this.#pattern[this.#at];
  }

  #next(): string {
    const character = this.#pattern[this.#at++];
    if (character === undefined) throw this.#fault('it ends in the middle');
    return character;
  }

  #accept(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #rest(expression: RegExp): string | null {
    return expression.exec(this.#pattern.slice(this.#at, this.#at + 64).join(''))?.[0] ?? null;
  }

  #fault(reason: string): GrammarError {
    return new GrammarError(`regular expression, character ${this.#at}: ${reason}`);
  }
}

function sizeOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { size }) => sum + size, 0);
}
