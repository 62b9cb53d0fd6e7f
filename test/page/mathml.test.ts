import * as fc from 'fast-check';
import type { VNode } from 'preact';
import { expect, test } from 'vitest';
import { toMathml } from '../../web/src/components/markdown/mathml.ts';

/** Every element of a tree. */
function elementsOf(tree: unknown): VNode<Record<string, unknown>>[] {
  if (Array.isArray(tree)) return tree.flatMap(elementsOf);
  if (typeof tree !== 'object' || tree === null) return [];
  const element = tree as VNode<Record<string, unknown>>;
  return [element, ...elementsOf(element.props['children'])];
}

function expectHarmless(tree: unknown): void {
  for (const { type, props } of elementsOf(tree)) {
    expect(type).toMatch(/^m[a-z]+$|^none$/);
    for (const [name, value] of Object.entries(props)) {
      if (name === 'children' || name === 'style' || name === 'class') continue;
      expect(name).not.toMatch(/^(?:on.*|href|src|id|style|actiontype)$/i);
      expect(typeof value).toBe('string');
    }
    const styles = Object.entries((props['style'] ?? {}) as Record<string, unknown>);
    for (const [name, value] of styles) {
      expect(name).not.toMatch(/position|transform|margin|left|top|zIndex|content|background/);
      expect(String(value)).not.toMatch(/url|expression|javascript/i);
    }
    expect(props['class'] ?? 'tml-').toMatch(/^tml-/);
  }
}

test.each([
  String.raw`\frac{a}{b} + \sqrt[3]{x} = \sum_{i=0}^n x_i^2`,
  String.raw`\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}`,
  String.raw`\begin{cases} 1 & x > 0 \\ 0 & \text{otherwise} \end{cases}`,
  String.raw`\ce{2H2 + O2 -> 2H2O}`,
  String.raw`\mathbb{R}^n \to \mathcal{L}, \quad \forall \epsilon > 0`,
  String.raw`\boxed{42} \vec{v} \overline{AB} \cancel{x} \color{red} y`,
  String.raw`\begin{align} a &= b \\ c &= d \end{align}`,
])('%s becomes MathML', (latex) => {
  const tree = toMathml(latex, true);
  expect(elementsOf(tree)[0]?.type).toBe('math');
  expectHarmless(tree);
});

test.each([
  ['a link', String.raw`\href{javascript:alert(1)}{x}`],
  ['an address', String.raw`\url{javascript:alert(1)}`],
  ['a picture', String.raw`\includegraphics{https://evil.example/x.png}`],
  ['a style', String.raw`\style{position:fixed;inset:0}{x}`],
  ['a class', String.raw`\class{notice}{x}`],
  ['an id', String.raw`\id{main}{x}`],
  ['an endless macro', String.raw`\def\a{\a\a}\a`],
  [
    'macros that multiply',
    String.raw`\def\a#1{#1#1}\def\b{\a{\a{\a{\a{\a{\a{\a{x}}}}}}}}\b\b\b\b\b\b\b\b\b\b\b\b\b`,
  ],
  ['a macro of itself', String.raw`\newcommand{\x}{\x}\x`],
  [
    'wide spaces',
    String.raw`\hspace{-1000em} \raisebox{-500em}{x} \rule{1000em}{1000em} \kern{-90em}`,
  ],
  ['an address as a color', String.raw`\color{url(https://evil.example)} x`],
  ['deep groups', '{'.repeat(2000) + '}'.repeat(2000)],
  ['deep roots', `${String.raw`\sqrt`.repeat(500)}x`],
  ['deep powers', 'x^{'.repeat(800) + '}'.repeat(800)],
  ['brackets without ends', String.raw`\left(`.repeat(900)],
  ['deep tables', String.raw`\begin{matrix}`.repeat(200)],
  ['a wide table', String.raw`\begin{matrix}${'&'.repeat(3000)}\end{matrix}`],
  ['a character alone', '\\'],
  ['others', '& # % } \u0000 \u202E'],
  ['markup', String.raw`\text{<img src=x onerror=alert(1)>}`],
  ['markup in labels', String.raw`\tag{<script>} \label{"><script>} x`],
])('%s does no harm', (_, latex) => {
  expectHarmless(toMathml(latex, true));
  expectHarmless(toMathml(latex, false));
});

const COMMANDS = [
  String.raw`\frac`,
  String.raw`\sqrt`,
  String.raw`\left(`,
  String.raw`\right)`,
  '{',
  '}',
  '^',
  '_',
  '&',
  String.raw`\\`,
  String.raw`\text{`,
  String.raw`\begin{matrix}`,
  String.raw`\end{matrix}`,
  String.raw`\def\x`,
  String.raw`\x`,
  '#1',
  String.raw`\href{javascript:x}{y}`,
  String.raw`\color{`,
  String.raw`\hspace{-9em}`,
  String.raw`\over`,
  String.raw`\expandafter`,
  String.raw`\let`,
  String.raw`\ce{`,
  String.raw`\tag{`,
  String.raw`\require{x}`,
  String.raw`\style{position:fixed}{`,
  'x',
  '1',
  ' ',
  '\n',
  '$',
  '%',
  String.raw`\futurelet`,
  String.raw`\csname x\endcsname`,
  '[',
  ']',
];

test('no formula, however wrong, throws, takes long or becomes more than it may', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom(...COMMANDS), fc.string({ maxLength: 4 })), {
        maxLength: 60,
      }),
      fc.boolean(),
      (parts, isBlock) => {
        const tree = toMathml(parts.join(''), isBlock);
        expectHarmless(tree);
        expect(elementsOf(tree).length).toBeLessThanOrEqual(3000);
      },
    ),
    { numRuns: 500 },
  );
});
