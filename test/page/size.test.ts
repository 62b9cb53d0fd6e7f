import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MAX_BYTES = 200 * 1024;
/** Size of the code for formulas, which is loaded with the first of them. */
const MAX_FORMULA_BYTES = 62 * 1024;
const MAX_FIRST_LOAD = 74 * 1024;

const sizes = new Map(
  readdirSync('dist/web', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.gz'))
    .map((name) => [name.replace(/\.gz$/, ''), statSync(join('dist/web', name)).size] as const),
);

function sumOf(names: Iterable<string>): number {
  return [...names].reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
}

test('the whole page is less than 200 KB, compressed, without what draws formulas', () => {
  const isFormula = (name: string) => name.startsWith('assets/mathml-');
  expect(sizes.size).toBeGreaterThan(5);
  const rest = sumOf([...sizes.keys()].filter((name) => !isFormula(name)));
  expect(rest, JSON.stringify([...sizes])).toBeLessThan(MAX_BYTES);
  expect(sumOf([...sizes.keys()].filter(isFormula))).toBeLessThan(MAX_FORMULA_BYTES);
});

test('an empty chat takes less than 74 KB', () => {
  const first = new Set(['index.html', 'theme.js']);
  // Files that the page names, and those that they import before they run.
  const queue = [...first, ...[...sizes.keys()].filter((name) => name.includes('/chat-view-'))];
  for (const name of queue) {
    first.add(name);
    if (!/\.(html|js)$/.test(name)) continue;
    const text = readFileSync(join('dist/web', name), 'utf8');
    const named = text.matchAll(/(?:src|href)="\/ui\/(assets\/[^"]+)"|\bfrom ?["'`]\.\/([^"'`]+)/g);
    for (const [, asset, sibling] of named) {
      const next = asset ?? `assets/${sibling}`;
      if (!first.has(next)) queue.push(next);
    }
  }
  const listed = JSON.stringify([...first].map((name) => [name, sizes.get(name)]));
  expect(first.size).toBeGreaterThan(5);
  expect(sumOf(first), listed).toBeLessThan(MAX_FIRST_LOAD);
});
