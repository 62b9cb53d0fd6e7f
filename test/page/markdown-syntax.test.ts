import { Marked, type Token } from 'marked';
import { expect, test } from 'vitest';
import { withCharacters } from '../../web/src/components/markdown/character-names.ts';
import { headingLevels } from '../../web/src/components/markdown/headings.ts';
import { type Nested, nested } from '../../web/src/components/markdown/html-tags.ts';
import {
  formulaAt,
  MAX_FORMULA,
  mathSyntax,
} from '../../web/src/components/markdown/math-syntax.ts';

const marked = new Marked(mathSyntax);

/** All formulas of a text, wherever they are; the rest as `text`. */
function formulasOf(text: string): string[] {
  const found: string[] = [];
  const walk = (token: Token & { isBlock?: boolean }) => {
    if (token.type === 'math')
      found.push(`${token.isBlock ? 'block' : 'line'}: ${token.raw.trim()}`);
  };
  void marked.walkTokens(marked.lexer(text), walk);
  return found;
}

test.each([
  [String.raw`so \( a^2 \) is`, [String.raw`line: \( a^2 \)`]],
  [String.raw`\[ x\,y \]`, [String.raw`block: \[ x\,y \]`]],
  [String.raw`as in \[ x \] here`, [String.raw`block: \[ x \]`]],
  ['$$\nE = mc^2\n$$', ['block: $$\nE = mc^2\n$$']],
  ['Let $x_1$ and $y_2$ be', ['line: $x_1$', 'line: $y_2$']],
  ['| a |\n| --- |\n| $x$ |', ['line: $x$']],
  ['- $a$\n- $$b$$', ['line: $a$', 'block: $$b$$']],
  [
    String.raw`\begin{align} a &= b \\ c &= d \end{align}`,
    [String.raw`block: \begin{align} a &= b \\ c &= d \end{align}`],
  ],
  ['It costs $5, or $10 for two.', []],
  ['From $5-$10 to US$7', []],
  ['`$x$` is code', []],
  ['```\n$$\nx\n$$\n```', []],
  ['$$ not closed', []],
  ['$ a$ and $b $', []],
])('%j has the formulas %j', (text, formulas) => {
  expect(formulasOf(text)).toEqual(formulas);
});

test('of a formula that is not whole, no character is lost', () => {
  for (const text of [String.raw`\( a^2`, String.raw`a \] b`, String.raw`\[ 1 \,`]) {
    const [paragraph] = marked.lexer(text);
    const texts = (paragraph as { tokens: { text: string }[] }).tokens.map((token) => token.text);
    expect(texts.join('').replaceAll(',', '')).toContain(text.slice(0, 2));
  }
});

test('what is longer than a formula may be is none, and costs no more for being long', () => {
  expect(formulaAt(`$$${'x'.repeat(MAX_FORMULA)}$$`)).not.toBe(null);
  expect(formulaAt(`$$${'x'.repeat(MAX_FORMULA + 1)}$$`)).toBe(null);
  // Beginnings without ends, each of which would be looked for to the end of the text.
  const hostile = [String.raw`\[`, String.raw`\(`, '$$ ', '$x ', String.raw`\begin{a}`];
  for (const piece of hostile) expect(formulasOf(piece.repeat(4000))).toEqual([]);
});

test('characters have the names that HTML gives them', () => {
  expect(withCharacters('a&nbsp;&mdash;&copy;&Omega;&alpha;&rarr;&frac12;&yuml;')).toBe(
    'a\u00A0—©Ωα→½ÿ',
  );
  expect(withCharacters('&#8364;&#x20AC;&amp;lt;&apos;')).toBe("€€&lt;'");
  expect(withCharacters('&#0;&#xD800;&#1114112;&unknown; & &; AT&T')).toBe(
    '\uFFFD\uFFFD\uFFFD&unknown; & &; AT&T',
  );
});

test('of HTML a few elements are known, without attributes, and no further', () => {
  const shapeOf = (text: string) => {
    const [paragraph] = marked.lexer(text);
    const parts = nested((paragraph as { tokens: Token[] }).tokens);
    const words = (list: readonly Nested[]): string =>
      list
        .map((part) => {
          if (part.kind === 'break') return '|';
          if (part.kind === 'element') return `${part.tag}(${words(part.children)})`;
          return part.token.raw;
        })
        .join('');
    return words(parts);
  };
  expect(shapeOf('H<sub>2</sub>O<br>a<br/>b')).toBe('Hsub(2)O|a|b');
  expect(shapeOf('x<sup>a<b>c</b></sup>')).toBe('xsup(ab(c))');
  expect(shapeOf('a <sub>b')).toBe('a <sub>b');
  expect(shapeOf('a <sub onclick="x">b</sub> c')).toBe('a <sub onclick="x">b</sub> c');
  expect(shapeOf('a <script>b</script> c')).toBe('a <script>b</script> c');
  // Deeply nested, it is a text again, and no stack overflows.
  expect(shapeOf(`x${'<b>'.repeat(5000)}`)).toContain('<b><b>');
});

test('headings leave out no level', () => {
  const levels = (text: string) => [...headingLevels(marked.lexer(text)).values()];
  expect(levels('# a\n\n## b\n\n# c')).toEqual([2, 3, 2]);
  expect(levels('### a\n\n###### b\n\n## c')).toEqual([2, 3, 2]);
});
