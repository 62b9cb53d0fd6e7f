/** Grammars in Lark's notation: rules and terminals, as a tree. */
import { LIMITS } from '../limits.ts';
import { told } from '../told.ts';
import { LARK_COMMON } from './lark-common.ts';
import { larkFault, larkWords, type LarkWord } from './lark-lexer.ts';
import { larkString } from './lark-string.ts';

export type LarkPart =
  | { readonly kind: 'text'; readonly text: string; readonly ignoresCase: boolean }
  | { readonly kind: 'regex'; readonly pattern: string; readonly flags: string }
  | { readonly kind: 'range'; readonly from: number; readonly to: number }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly LarkPart[] }
  | {
      readonly kind: 'repeat';
      readonly part: LarkPart;
      readonly min: number;
      readonly max: number | null;
    };

export interface LarkDefinition {
  readonly part: LarkPart;
  readonly line: number;
}

export interface LarkGrammar {
  /** By the name of the rule, or of the terminal. */
  readonly definitions: ReadonlyMap<string, LarkDefinition>;
  /** May stand between all terminals. */
  readonly ignored: readonly LarkPart[];
}

export function isTerminal(name: string): boolean {
  return /^_?[A-Z]/.test(name);
}

/** @throws GrammarError naming the line, and what is wrong there or not supported */
export function parseLark(text: string): LarkGrammar {
  return new LarkParser(text).parse();
}

const COUNTS: Readonly<Record<string, readonly [number, number | null]>> = {
  '?': [0, 1],
  '*': [0, null],
  '+': [1, null],
};

class LarkParser {
  readonly #words: readonly LarkWord[];
  readonly #definitions = new Map<string, LarkDefinition>();
  readonly #ignored: LarkPart[] = [];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#words = larkWords(text);
  }

  parse(): LarkGrammar {
    for (;;) {
      while (this.#peek()?.kind === 'line') this.#at++;
      const word = this.#peek();
      if (word === undefined) break;
      if (word.kind === 'directive') this.#directive(word);
      else this.#definition();
      if (this.#peek() !== undefined) this.#expect('line', 'the end of the line');
    }
    return { definitions: this.#definitions, ignored: this.#ignored };
  }

  #directive({ text, line }: LarkWord): void {
    this.#at++;
    if (text === '%ignore') this.#ignored.push(this.#choice());
    else if (text === '%import') this.#import(line);
    else throw larkFault(line, `\`${told(text, 40)}\` is not supported`);
  }

  /** `common.NAME`, perhaps with another name, or `common (NAME, NAME)`. */
  #import(line: number): void {
    if (this.#expect('name', 'a library').text !== 'common') {
      throw larkFault(line, 'only terminals of `common` can be imported');
    }
    if (this.#accept('(')) {
      do this.#define(this.#common(), line);
      while (this.#accept(','));
      this.#require(')');
      return;
    }
    this.#require('.');
    const known = this.#common();
    const name = this.#accept('->') ? this.#expect('name', 'a name').text : known.name;
    this.#define({ ...known, name }, line);
  }

  #common(): { name: string; part: LarkPart } {
    const { text: name, line } = this.#expect('name', 'the name of a terminal');
    const pattern = LARK_COMMON.get(name);
    if (pattern === undefined) throw larkFault(line, `\`common\` has no \`${told(name, 40)}\``);
    return { name, part: { kind: 'regex', pattern, flags: '' } };
  }

  #define({ name, part }: { name: string; part: LarkPart }, line: number): void {
    if (this.#definitions.has(name)) {
      throw larkFault(line, `\`${told(name, 40)}\` is defined twice`);
    }
    this.#definitions.set(name, { part, line });
  }

  #definition(): void {
    // These shape the tree that a parser makes, and not which texts there are.
    while (this.#accept('?') || this.#accept('!'));
    const { text: name, line } = this.#expect('name', 'a rule or a terminal');
    if (this.#accept('{')) throw larkFault(line, 'templates are not supported');
    if (this.#accept('.')) {
      this.#accept('-');
      this.#expect('number', 'a priority');
    }
    this.#require(':');
    this.#define({ name, part: this.#choice() }, line);
  }

  #choice(): LarkPart {
    // Deeper nesting would overflow the stack.
    if (++this.#depth > LIMITS.grammarDepth) {
      throw this.#fault(`groups are nested more than ${LIMITS.grammarDepth} levels deep`);
    }
    const parts = [this.#sequence()];
    while (this.#acceptOr()) parts.push(this.#sequence());
    this.#depth--;
    return { kind: 'choice', parts };
  }

  /** A line may begin with it. */
  #acceptOr(): boolean {
    const ahead = this.#peek()?.kind === 'line' ? 1 : 0;
    if (this.#words[this.#at + ahead]?.text !== '|') return false;
    this.#at += ahead + 1;
    return true;
  }

  #sequence(): LarkPart {
    const parts: LarkPart[] = [];
    for (let atom = this.#atom(); atom !== null; atom = this.#atom()) {
      parts.push(this.#repeated(atom));
    }
    if (this.#accept('->')) this.#expect('name', 'an alias');
    return { kind: 'sequence', parts };
  }

  /** Null where the sequence ends. */
  #atom(): LarkPart | null {
    const word = this.#peek();
    if (word === undefined) return null;
    switch (word.kind) {
      case 'string':
        this.#at++;
        return this.#accept('..') ? this.#range(word) : larkText(word);
      case 'regex': {
        this.#at++;
        const end = word.text.lastIndexOf('/');
        const flags = word.text.slice(end + 1);
        return { kind: 'regex', pattern: word.text.slice(1, end), flags };
      }
      case 'name':
        this.#at++;
        return { kind: 'name', name: word.text };
      case 'sign':
        return this.#group();
      case 'line':
      case 'number':
      case 'directive':
        return null;
    }
  }

  /** Null where none begins. */
  #group(): LarkPart | null {
    if (this.#accept('(')) {
      const part = this.#choice();
      this.#require(')');
      return part;
    }
    if (!this.#accept('[')) return null;
    const part = this.#choice();
    this.#require(']');
    return { kind: 'repeat', part, min: 0, max: 1 };
  }

  #range(first: LarkWord): LarkPart {
    const last = this.#expect('string', 'the last character of a range');
    const [from, to] = [larkText(first), larkText(last)].map(({ text }) => {
      const [character, ...more] = Array.from(text);
      return more.length === 0 ? character?.codePointAt(0) : undefined;
    });
    if (from !== undefined && to !== undefined && from <= to) return { kind: 'range', from, to };
    throw larkFault(first.line, 'a range goes from one character to a later one');
  }

  #repeated(part: LarkPart): LarkPart {
    const counts = COUNTS[this.#peek()?.text ?? ''];
    if (counts !== undefined) {
      this.#at++;
      return { kind: 'repeat', part, min: counts[0], max: counts[1] };
    }
    if (!this.#accept('~')) return part;
    const min = this.#number();
    const max = this.#accept('..') ? this.#number() : min;
    if (max < min) throw this.#fault('the numbers of a repetition are out of order');
    return { kind: 'repeat', part, min, max };
  }

  #number(): number {
    return Number(this.#expect('number', 'a number').text);
  }

  #peek(): LarkWord | undefined {
    return this.#words[this.#at];
  }

  #accept(sign: string): boolean {
    const word = this.#peek();
    if (word?.kind !== 'sign' || word.text !== sign) return false;
    this.#at++;
    return true;
  }

  #require(sign: string): void {
    if (!this.#accept(sign)) throw this.#fault(`expected \`${sign}\``);
  }

  #expect(kind: LarkWord['kind'], expected: string): LarkWord {
    const word = this.#peek();
    if (word?.kind !== kind) throw this.#fault(`expected ${expected}`);
    this.#at++;
    return word;
  }

  #fault(reason: string): Error {
    const word = this.#peek();
    const line = word?.line ?? this.#words.at(-1)?.line ?? 1;
    const isThere = word !== undefined && word.kind !== 'line';
    return larkFault(line, isThere ? `${reason}, found \`${told(word.text, 40)}\`` : reason);
  }
}

function larkText({ text: word, line }: LarkWord): LarkPart & { readonly kind: 'text' } {
  const ignoresCase = word.endsWith('i');
  const inside = word.slice(1, ignoresCase ? -2 : -1);
  return { kind: 'text', text: larkString(inside, line), ignoresCase };
}
