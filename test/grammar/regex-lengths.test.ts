import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countableEnd, lengthsOf, withLengths } from '../../src/grammar/regex-lengths.ts';
import { parseRegex } from '../../src/grammar/regex-parser.ts';
import type { RegexNode } from '../../src/grammar/regex-tree.ts';
import { schemaToEbnf } from '../../src/grammar/schema-ebnf.ts';

const atom = fc.constantFrom('a', 'b', '[ab]', 'é', '😀', '[^a]');
const quantifier = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,3}', '{2,}', '{0,2}');
const { pattern: anyPattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: fc.tuple(atom, quantifier).map((each) => each.join('')) },
    { weight: 2, arbitrary: fc.tuple(tie('pattern'), tie('pattern')).map((each) => each.join('')) },
    {
      weight: 1,
      arbitrary: fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(tie('pattern'), quantifier).map(([a, times]) => `(?:${a})${times}`),
    },
  ),
}));

/** A text of the tree. */
function drawText(node: RegexNode, draw: (below: number) => number): string {
  switch (node.kind) {
    case 'text':
      return node.text;
    case 'class': {
      const among = ['a', 'b', 'c', '日'].filter((each) => {
        const code = each.codePointAt(0) ?? 0;
        return node.ranges.some(([from, to]) => from <= code && code <= to) !== node.negated;
      });
      return among[draw(among.length)] ?? '';
    }
    case 'sequence':
      return node.items.map((item) => drawText(item, draw)).join('');
    case 'choice': {
      const chosen = node.alternatives[draw(node.alternatives.length)];
      return chosen === undefined ? '' : drawText(chosen, draw);
    }
    case 'repeat': {
      const times = node.min + draw(Math.min(8, (node.max ?? Infinity) - node.min) + 1);
      return Array.from({ length: times }, () => drawText(node.item, draw)).join('');
    }
  }
}

describe('a pattern with lengths', () => {
  it('has texts of these lengths only, all of which it had before', () => {
    let numFound = 0;
    const property = fc.property(
      anyPattern,
      fc.nat(12),
      fc.option(fc.nat(20), { nil: Infinity }),
      fc.infiniteStream(fc.nat()),
      (pattern, min, more, stream) => {
        const tree = withLengths(parseRegex(pattern), min, min + more);
        if (tree === null) return;
        numFound++;
        const { min: least, max: most } = lengthsOf(tree);
        expect(least).toBeGreaterThanOrEqual(min);
        expect(most).toBeLessThanOrEqual(min + more);
        for (let count = 0; count < 5; count++) {
          const text = drawText(tree, (below) => (stream.next().value as number) % below);
          expect(text).toMatch(new RegExp(`^(?:${pattern})$`, 'u'));
          expect(Array.from(text).length).toBeGreaterThanOrEqual(least);
          expect(Array.from(text).length).toBeLessThanOrEqual(most);
        }
      },
    );
    fc.assert(property, { numRuns: 3000, seed: 5 });
    expect(numFound).toBeGreaterThan(1500);
  });

  it.each([
    ['[a-z]+', 3, 5, [3, 5]],
    ['[a-z]{2,9}', 0, 5, [2, 5]],
    ['x(?:abc)*', 3, 9, [4, 7]],
    ['\\d{4}-[a-z]*-x', 0, 10, [7, 10]],
    ['(?:a{9}|b{2}|c*)', 3, 7, [3, 7]],
    ['\\S+@\\S+', 0, 20, [3, 20]],
    ['[a-z]+(?:-[a-z]+)*', 10, 64, [11, 63]],
    ['(?:abc)*', 0, 2, [0, 0]],
    ['(?:a*)*', 5, Infinity, [5, Infinity]],
    ['.*', 7, 10 ** 9, [7, 10 ** 9]],
  ])('%s from %d to %d has texts of %j', (pattern, min, max, lengths) => {
    const tree = withLengths(parseRegex(pattern), min, max);
    expect(tree && Object.values(lengthsOf(tree))).toEqual(lengths);
  });

  it.each([
    ['abc', 4, 9],
    ['abc', 0, 2],
    ['(?:abc)+', 4, 5],
    ['a|bbb', 2, 2],
  ])('%s from %d to %d is none', (pattern, min, max) => {
    expect(withLengths(parseRegex(pattern), min, max)).toBeNull();
  });

  it('takes hardly longer than to read it', () => {
    const deep = `${'(?:'.repeat(60)}a*b*${')+'.repeat(60)}`;
    const wide = '[a-z]+-'.repeat(2000);
    const start = process.cpuUsage();
    for (const pattern of [deep, wide]) withLengths(parseRegex(pattern), 5000, 10 ** 9);
    expect(process.cpuUsage(start).user).toBeLessThan(1_000_000);
  });
});

describe('the end of a pattern', () => {
  it.each([
    ['[a-z]{1,64}', [1, 64]],
    ['[^@]+', [1, null]],
    ['[A-Z](?:ab|cd)\\d{2,5}', [5, 8]],
  ])('of %s is counted from %j', (pattern, bounds) => {
    expect(countableEnd(parseRegex(pattern))?.bounds).toEqual(bounds);
  });

  it.each(['abc', '[a-z]{1,9}x', '(?:ab|c)[a-z]{1,9}', '[a-z]*[0-9]{1,9}', '(?:ab){1,9}'])(
    'of %s is not counted',
    (pattern) => {
      expect(countableEnd(parseRegex(pattern))).toBeNull();
    },
  );
});

describe('a schema with a pattern or format and lengths', () => {
  it.each([
    [
      { pattern: '^a{2}$', maxLength: 1 },
      'no text of this pattern or format was found that has 0 to 1',
    ],
    [{ format: 'uuid', maxLength: 5 }, 'was found that has 0 to 5 characters'],
    [{ pattern: '^a$', minLength: 2 }, 'was found that has at least 2 characters'],
    [{ pattern: '^a*$', minLength: 2, maxLength: 1 }, 'maxLength is below minLength'],
    [{ pattern: '^a*b*$', maxLength: 10 ** 9 }, 'comes to more than 20000 characters'],
  ])('%j is refused with the reason', (schema, reason) => {
    expect(() => schemaToEbnf({ type: 'string', ...schema })).toThrow(reason);
  });

  it.each([
    { format: 'email', maxLength: 12 },
    { format: 'uri', minLength: 30, maxLength: 40 },
    { format: 'uuid', minLength: 36, maxLength: 36 },
    { pattern: '^[a-z]+-[0-9]+$', maxLength: 20 },
  ])('%j is a grammar', (schema) => {
    expect(schemaToEbnf({ type: 'string', ...schema })).toContain('root ::=');
  });
});
