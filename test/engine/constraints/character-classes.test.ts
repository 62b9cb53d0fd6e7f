import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { characterClass } from '../../../src/grammar/character-class.ts';
import type { CharacterRange } from '../../../src/grammar/ebnf.ts';
import { schemaToEbnf } from '../../../src/grammar/schema-ebnf.ts';
import { sourceToEbnf } from '../../../src/grammar/source-ebnf.ts';
import { END } from '../../support/byte-vocabulary.ts';
import { FollowedText, useGrammarThread } from '../../support/followed-text.ts';

const thread = useGrammarThread();

/** Whether the grammar has this text, byte by byte, as a whole. */
async function has(ebnf: string, text: string): Promise<boolean> {
  const followed = new FollowedText(thread, ebnf);
  try {
    for (const byte of Buffer.from(text)) {
      if (!followed.allowed().includes(byte)) return false;
      followed.accept(byte);
    }
    return followed.allowed().includes(END);
  } finally {
    await followed.close();
  }
}

/** Code points at which lengths of UTF-8 or its bytes change. */
const BORDERS = [
  ...[0, 0x2f, 0x41, 0x7f, 0x80, 0xbf, 0xc0, 0x3ff, 0x430, 0x44f, 0x7ff, 0x800, 0xfff, 0x1000],
  ...[0x1680, 0x3000, 0x65e5, 0xd7ff, 0xe000, 0xfeff, 0xffff, 0x10000, 0x1f600, 0x3ffff, 0x40000],
  ...[0xfffff, 0x100000, 0x10ffff],
];
const code = fc
  .tuple(fc.constantFrom(...BORDERS), fc.integer({ min: -2, max: 2 }))
  .map(([border, by]) => Math.min(0x10ffff, Math.max(0, border + by)));
const scalar = code.filter((each) => each < 0xd800 || each > 0xdfff);
const range = fc
  .tuple(code, code)
  .map(([a, b]): CharacterRange => [Math.min(a, b), Math.max(a, b)]);

describe('a class of characters', () => {
  it('has the characters of its ranges and no others, in one byte or four', async () => {
    let numInside = 0;
    const property = fc.asyncProperty(
      fc.array(range, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      fc.array(scalar, { minLength: 4, maxLength: 4 }),
      async (ranges, negated, codes) => {
        const isInside = (each: number) =>
          ranges.some(([from, to]) => from <= each && each <= to) !== negated;
        fc.pre(BORDERS.some(isInside));
        const ebnf = `root ::= ${characterClass(ranges, negated)}\n`;
        for (const each of codes) {
          if (isInside(each)) numInside++;
          const found = await has(ebnf, String.fromCodePoint(each));
          expect([each, found]).toEqual([each, isInside(each)]);
        }
      },
    );
    await fc.assert(property, { numRuns: 150, seed: 11 });
    expect(numInside).toBeGreaterThan(150);
  }, 120_000);

  it.each([
    [[[0, 0x10ffff]], true],
    [[[0xd800, 0xdfff]], false],
  ] as const)('%j, negated: %j, has none and is refused', (ranges, negated) => {
    expect(() => characterClass(ranges, negated)).toThrow('no characters');
  });

  it.each([
    ['^[а-яё]+$', 'привет', true],
    ['^[а-яё]+$', '01', false],
    ['^[^а-я]+$', 'hello 日', true],
    ['^[^а-я]+$', 'hi я', false],
    ['^[一-龥]{2,4}$', '日本', true],
    ['^[一-龥]{2,4}$', '日本語日本', false],
    ['^\\S+$', 'a日😀', true],
    ['^\\S+$', 'a\u3000b', false],
    ['^[😀-😂]$', '😁', true],
    ['^[😀-😂]$', '😃', false],
  ])('of the pattern %s in JSON takes %j: %j', async (pattern, text, isTaken) => {
    const ebnf = schemaToEbnf({ type: 'string', pattern });
    expect(await has(ebnf, JSON.stringify(text))).toBe(isTaken);
  });

  it.each([
    ['[а-я]+', 'да', true],
    ['[а-я]+', '0', false],
    ['[\\u0430-\\u044f]', 'я', true],
    ['[^\\u0430-\\u044f\\n]', 'я', false],
    ['[^а-я]', '日', true],
    ['[\\]\\-é^]', '-', true],
    ['[\\]\\-é^]', 'é', true],
    ['[\\x61-\\U00000063é]', 'b', true],
    ['"[а-я]"', '[а-я]', true],
  ])('of a client\u2019s grammar, %s, takes %j: %j', async (expression, text, isTaken) => {
    const form = { kind: 'ebnf', ebnf: `root ::= ${expression} # [а-я]\n` } as const;
    expect(await has(sourceToEbnf({ form }), text)).toBe(isTaken);
  });
});
