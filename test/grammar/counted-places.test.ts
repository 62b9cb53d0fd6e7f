import { describe, expect, it } from 'vitest';
import { type Counts, splitCounts } from '../../src/grammar/counted-text.ts';
import { exactSchemaToEbnf, schemaToEbnf } from '../../src/grammar/schema-ebnf.ts';
import { sourceToEbnf } from '../../src/grammar/source-ebnf.ts';
import { LIMITS } from '../../src/limits.ts';

/** In microseconds of computing: other processes do not count. */
const SECOND = 1_000_000;

const text = (maxLength: number) => ({ type: 'string', maxLength });
const objectOf = (properties: object) => ({ type: 'object', properties });

function countsOf(schema: unknown): Counts | null {
  return splitCounts(schemaToEbnf(schema)).counts;
}

describe('counted places', () => {
  it('are those that lead to a bounded string', () => {
    const schema = objectOf({ a: text(3), b: { type: 'string' }, c: objectOf({ d: true }) });
    expect(countsOf(schema)?.places).toEqual([
      { object: { members: [['a', 1]], rest: -1 } },
      { text: [0, 3] },
    ]);
  });

  it.each([
    ['no string', { type: 'integer' }],
    ['any value', {}],
    ['no bound', { type: 'string', minLength: 0 }],
    ['a pattern', { type: 'string', pattern: 'a{3}' }],
    ['a format', { type: 'string', format: 'date', maxLength: 36 }],
  ])('are none in a schema of %s', (_, schema) => {
    expect(schemaToEbnf(schema)).toBe(exactSchemaToEbnf(schema));
    expect(countsOf(schema)).toBeNull();
  });

  it.each([
    ['other bounds', { anyOf: [text(3), text(5)] }],
    ['any value', { anyOf: [text(3), {}] }],
    ['a constant', { anyOf: [text(3), { const: 'abcdef' }] }],
    ['a pattern', { anyOf: [text(3), { type: 'string', pattern: 'a{9}' }] }],
    ['another object', { anyOf: [objectOf({ a: text(3) }), objectOf({ a: text(5), b: true })] }],
    [
      'any member',
      { anyOf: [objectOf({ a: text(3) }), { additionalProperties: { type: 'string' } }] },
    ],
    ['a constant object', { anyOf: [objectOf({ a: text(3) }), { enum: [{ a: 'abcdef' }] }] }],
    ['another list', { anyOf: [{ items: text(3) }, { prefixItems: [true, { type: 'string' }] }] }],
    [
      'keys that are given',
      {
        anyOf: [
          { type: 'object', propertyNames: text(3), additionalProperties: { type: 'null' } },
          objectOf({ abcdef: true }),
        ],
      },
    ],
  ])('are none where the bounded string may as well be %s', (_, schema) => {
    expect(schemaToEbnf(schema)).toBe(exactSchemaToEbnf(schema));
  });

  it('remain where only others are ambiguous', () => {
    const schema = objectOf({ a: { anyOf: [text(3), text(5)] }, b: text(7), c: text(5) });
    expect(countsOf(schema)?.places).toContainEqual({ text: [0, 7] });
    expect(countsOf(schema)?.places).not.toContainEqual({ text: [0, 5] });
  });

  it.each([
    ['equal bounds', { anyOf: [text(3), { ...text(3), title: 'A' }] }],
    ['other types', { anyOf: [text(3), { type: 'null' }, { type: 'array' }] }],
    ['other keys', { anyOf: [objectOf({ a: text(3) }), objectOf({ b: text(5) })] }],
    ['several types', { type: ['string', 'null', 'integer'], maxLength: 3 }],
    ['null', { ...text(3), nullable: true }],
  ])('are counted beside %s', (_, schema) => {
    expect(countsOf(schema)?.places).toContainEqual({ text: [0, 3] });
  });
});

describe('hostile bounds', () => {
  it('in thousands of places take a moment, and a short text', () => {
    const members = Array.from({ length: 2000 }, (_, index) => [
      `p${index}`,
      text(10 ** 9 - index),
    ]);
    const start = process.cpuUsage();
    const ebnf = schemaToEbnf(objectOf(Object.fromEntries(members)));
    expect(splitCounts(ebnf).counts?.places).toHaveLength(2001);
    expect(ebnf.length).toBeLessThan(LIMITS.grammarEbnfCharacters);
    expect(process.cpuUsage(start).user).toBeLessThan(2 * SECOND);
  });

  it('in a long chain of definitions are counted', () => {
    const $defs: Record<string, object> = { d3000: text(3) };
    for (let index = 0; index < 3000; index++) {
      $defs[`d${index}`] = { type: 'array', items: { $ref: `#/$defs/d${index + 1}` } };
    }
    expect(countsOf({ $defs, $ref: '#/$defs/d0' })?.places).toHaveLength(3001);
  });

  it('whose alternatives multiply end up in the grammar itself', () => {
    // It is open which of the levels have been left: a place for each set of 20 definitions.
    const next = (index: number) => ({ $ref: `#/$defs/d${index}` });
    const $defs: Record<string, object> = {
      d0: objectOf({ a: { anyOf: [next(0), next(1)] }, b: next(0) }),
      d20: text(3),
    };
    for (let index = 1; index < 20; index++) {
      $defs[`d${index}`] = objectOf({ a: next(index + 1), b: next(index + 1) });
    }
    const schema = { $defs, $ref: '#/$defs/d0' };
    const start = process.cpuUsage();
    expect(schemaToEbnf(schema)).toBe(exactSchemaToEbnf(schema));
    expect(process.cpuUsage(start).user).toBeLessThan(2 * SECOND);
  });

  it('of a client grammar, given as a comment, count nothing', () => {
    const ebnf = '#counted {"places": [{"text": [0, 1]}]}\nroot ::= "\\"abc\\""';
    const made = sourceToEbnf({ form: { kind: 'ebnf', ebnf } });
    expect(splitCounts(made)).toEqual({ ebnf: `\n${ebnf}`, counts: null });
    expect(splitCounts(sourceToEbnf({ form: { kind: 'compiled', text: made } })).counts).toBeNull();
  });
});
