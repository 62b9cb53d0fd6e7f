import { larkFault } from './lark-lexer.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  f: '\f',
  '"': '"',
  '\\': '\\',
  '/': '/',
};

const ESCAPE = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|(.))/gsu;

/** The text that a string of a Lark grammar stands for, without its quotes. */
export function larkString(written: string, line: number): string {
  return written.replaceAll(ESCAPE, (whole, x?: string, u?: string, long?: string, other = '') => {
    const digits = x ?? u ?? long;
    if (digits === undefined) {
      const character = ESCAPES[String(other)];
      if (character !== undefined) return character;
      throw larkFault(line, `\`${whole}\` is not supported in a string`);
    }
    const code = Number.parseInt(digits, 16);
    if (code <= 0x10ffff) return String.fromCodePoint(code);
    throw larkFault(line, `there is no character \`${whole}\``);
  });
}
