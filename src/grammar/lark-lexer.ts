/** The words of a grammar in Lark's notation. */
import { told } from '../told.ts';
import { GrammarError } from './grammar-spec.ts';

export interface LarkWord {
  readonly kind: 'line' | 'name' | 'string' | 'regex' | 'number' | 'directive' | 'sign';
  /** As it is written. */
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
}

const SPACE = /(?:[ \t\f]|\\\r?\n|(?:\/\/|#)[^\n]*)+/y;

const WORDS: readonly (readonly [LarkWord['kind'], RegExp])[] = [
  ['line', /(?:[ \t\f]*(?:(?:\/\/|#)[^\n]*)?\r?\n)+/y],
  ['string', /"(?:\\.|[^"\\\n])*"i?/y],
  ['regex', /\/(?!\/)(?:\\.|[^/\\\n])+\/[a-z]*/y],
  ['directive', /%[a-z]+/y],
  ['name', /_?(?:[a-z][a-z0-9_]*|[A-Z][A-Z0-9_]*)/y],
  ['number', /\d{1,9}/y],
  ['sign', /->|\.\.|[:|()[\]?*+~.,{}!-]/y],
];

export function larkFault(line: number, reason: string): GrammarError {
  return new GrammarError(`Lark grammar, line ${line}: ${reason}`);
}

/** @throws GrammarError for what is no word */
export function larkWords(text: string): LarkWord[] {
  const words: LarkWord[] = [];
  let line = 1;
  let at = 0;
  const match = (expression: RegExp): string => {
    expression.lastIndex = at;
    return expression.exec(text)?.[0] ?? '';
  };
  for (;;) {
    at += match(SPACE).length;
    if (at >= text.length) return words;
    const found = WORDS.map(([kind, expression]) => [kind, match(expression)] as const);
    const [kind, word] = found.find(([, each]) => each !== '') ?? ['sign', ''];
    if (word === '') throw larkFault(line, `\`${told(text.slice(at), 20)}\` is not understood`);
    words.push({ kind, text: word, line });
    at += word.length;
    line += word.split('\n').length - 1;
  }
}
