/** Formulas in Markdown: `$…$`, `$$…$$`, `\(…\)`, `\[…\]` and environments such as `\begin{align}`. */
import type { MarkedExtension, Tokens } from 'marked';

interface FormulaText {
  readonly raw: string;
  /** LaTeX without what stands around it. */
  readonly text: string;
  /** Stands in lines of its own. */
  readonly isBlock: boolean;
}

export interface MathToken extends FormulaText {
  readonly type: 'math';
}

/** Characters of a formula; what is longer is shown as it is written. */
export const MAX_FORMULA = 4000;

const ENVIRONMENT = /^\\begin\{([a-zA-Z]{1,20}\*?)\}/;
/** Dollar that may end a formula: none before a digit, as in "$5 or $10". */
const INLINE_END = /[^\s\\]\$(?!\d)/g;

/** @returns the formula that a text begins with */
export function formulaAt(src: string): FormulaText | null {
  if (src.startsWith('$$')) return between(src, '$$', '$$', true);
  if (src.startsWith('\\[')) return between(src, '\\[', '\\]', true);
  if (src.startsWith('\\(')) return between(src, '\\(', '\\)', false);
  if (src.startsWith('$')) return dollarFormula(src);
  const name = ENVIRONMENT.exec(src)?.[1];
  if (name === undefined) return null;
  const found = between(src, `\\begin{${name}}`, `\\end{${name}}`, true);
  // The environment is part of its formula.
  return found && { ...found, text: found.raw };
}

function between(src: string, begin: string, end: string, isBlock: boolean) {
  // So far and no further: a text of many beginnings without ends would be read again for each.
  const near = src.slice(begin.length, begin.length + MAX_FORMULA + end.length);
  const length = near.indexOf(end);
  if (length <= 0) return null;
  const text = near.slice(0, length);
  if (text.trim() === '' || /\n[ \t]*\n/.test(text)) return null;
  return { raw: src.slice(0, begin.length + length + end.length), text, isBlock };
}

/** As Pandoc has it: no space after the first dollar, none before the last, and no digit after that. */
function dollarFormula(src: string) {
  const near = src.slice(1, MAX_FORMULA);
  if (/^[\s$]/.test(near)) return null;
  const line = near.split('\n\n', 1)[0] ?? '';
  INLINE_END.lastIndex = 0;
  const end = INLINE_END.exec(line);
  // A single character: the pattern wants one before the dollar, which may be the first.
  if (end === null) return null;
  const text = line.slice(0, end.index + 1);
  return { raw: src.slice(0, text.length + 2), text, isBlock: false };
}

export const mathSyntax: MarkedExtension = {
  extensions: [
    {
      name: 'mathBlock',
      level: 'block',
      start: (src) => blockStart(src),
      tokenizer(src) {
        const indent = /^ {0,3}/.exec(src)?.[0].length ?? 0;
        const found = formulaAt(src.slice(indent));
        if (found === null || !found.isBlock) return undefined;
        // With more behind it in its line, it is a part of that line.
        const rest = /^[ \t]*(?:\n|$)/.exec(src.slice(indent + found.raw.length))?.[0];
        if (rest === undefined) return undefined;
        return {
          ...found,
          type: 'math',
          raw: src.slice(0, indent + found.raw.length + rest.length),
        };
      },
    },
    {
      name: 'mathInline',
      level: 'inline',
      start: (src) => inlineStart(src),
      tokenizer(src): Tokens.Generic | undefined {
        const found = formulaAt(src);
        if (found !== null) return { ...found, type: 'math' };
        // Markdown would take the backslash away: of what is no formula, or not yet, all is shown.
        const delimiter = /^\\[[\]()]/.exec(src)?.[0];
        if (delimiter === undefined) return undefined;
        return { type: 'text', raw: delimiter, text: delimiter };
      },
    },
  ],
};

/** In the paragraph that a text begins with: whatever follows is looked at when it is its turn. */
function blockStart(src: string): number | undefined {
  const end = src.indexOf('\n\n');
  const paragraph = end < 0 ? src : src.slice(0, end);
  const found = /\n {0,3}(?:\$\$|\\\[|\\begin\{)/.exec(paragraph);
  return found === null ? undefined : found.index + 1;
}

/** Text is cut here at the latest, so that a long one is not read to its end for each of its parts. */
const MAX_TEXT = 500;

function inlineStart(src: string): number | undefined {
  const found = /\$|\\[[\]()]|\\begin\{/.exec(src.slice(0, MAX_TEXT));
  if (found !== null) return found.index;
  return src.length > MAX_TEXT ? MAX_TEXT : undefined;
}
