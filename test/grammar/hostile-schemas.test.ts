import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GrammarError } from '../../src/grammar/grammar-spec.ts';
import { regexToEbnf } from '../../src/grammar/regex-parser.ts';
import { PLAIN_CHARACTERS } from '../../src/grammar/regex-tree.ts';
import { schemaToEbnf } from '../../src/grammar/schema-ebnf.ts';
import { sourceToEbnf } from '../../src/grammar/source-ebnf.ts';
import { LIMITS } from '../../src/limits.ts';

/** Each definition asks for the next one twice, beside a constraint of its own. */
function doubling(depth: number, part: (index: number) => object[]): object {
  const $defs: Record<string, object> = {
    [`d${depth}`]: { type: 'object', properties: {} },
  };
  for (let index = 0; index < depth; index++) {
    $defs[`d${index}`] = { type: 'object', anyOf: part(index) };
  }
  return { $defs, type: 'object', anyOf: [{ $ref: '#/$defs/d0' }, { $ref: '#/$defs/d0' }] };
}

const next = (index: number) => ({ $ref: `#/$defs/d${index + 1}` });

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = { type: 'null' };
  for (let level = 0; level < depth; level++) value = wrap(value);
  return value;
}

describe('a hostile schema', () => {
  it('of doubled references comes to a grammar that does not grow with their paths', () => {
    const ebnf = (depth: number) =>
      schemaToEbnf(doubling(depth, (index) => [next(index), next(index)]));
    expect(ebnf(60).length).toBeLessThan(2 * ebnf(10).length);
  });

  it('whose contexts are all different is refused with the limit', () => {
    const schema = doubling(25, (index) => [
      { allOf: [{ properties: { [`a${index}`]: true } }, next(index)] },
      { allOf: [{ properties: { [`b${index}`]: true } }, next(index)] },
    ]);
    expect(() => schemaToEbnf(schema)).toThrow(`more than ${LIMITS.grammarSchemaParts} keywords`);
  });

  it('may have a chain of definitions longer than the stack is deep', () => {
    const $defs: Record<string, object> = { d3000: { type: 'null' } };
    for (let index = 0; index < 3000; index++) {
      $defs[`d${index}`] = { type: 'array', items: next(index) };
    }
    expect(schemaToEbnf({ $defs, $ref: '#/$defs/d0' }).match(/::=/g)?.length).toBeGreaterThan(3000);
  });

  it.each([
    ['const', { const: nested(5000, (inner) => [inner]) }],
    ['enum', { enum: [nested(5000, (inner) => ({ a: inner }))] }],
    ['allOf', nested(5000, (inner) => ({ allOf: [inner] }))],
    ['anyOf', nested(5000, (inner) => ({ type: 'object', anyOf: [inner] }))],
    ['items', nested(5000, (items) => ({ type: 'array', items }))],
    ['default', { type: 'null', default: nested(5000, (inner) => [inner]) }],
  ])('with a deep %s is refused with the limit', (_, schema) => {
    expect(() => schemaToEbnf(schema)).toThrow(`more than ${LIMITS.grammarDepth} levels`);
  });

  it('given as a deep text is refused with the limit', () => {
    const schema = `{"const": ${'['.repeat(40_000)}${']'.repeat(40_000)}}`;
    expect(() => sourceToEbnf({ form: { kind: 'json_schema', schema } })).toThrow('levels');
  });

  it('with a long allOf is refused with the limit', () => {
    const allOf = Array.from({ length: 2000 }, (_, i) => ({ properties: { [`p${i}`]: true } }));
    expect(() => schemaToEbnf({ allOf })).toThrow(`more than ${LIMITS.grammarSchemaParts}`);
  });

  it('keeps members and formats apart from what every object has', () => {
    expect(schemaToEbnf({ type: 'string', format: 'constructor' })).toContain('root ::= string');
    const parts = [
      '{"properties": {"__proto__": {"type": "null"}}}',
      '{"required": ["__proto__"]}',
    ];
    const allOf = parts.map((text): unknown => JSON.parse(text));
    expect(schemaToEbnf({ allOf })).toContain('\\u005f\\u005fproto\\u005f\\u005f');
  });
});

describe('any schema', () => {
  const reference = fc
    .constantFrom('#', '#/$defs/a', '#/$defs/b', '#/$defs/c', '#/$defs/d')
    .map(($ref) => ({ $ref }));
  const pattern = fc.constantFrom('a{9}', '(((a{99}){99}){99}', '(((a{99}){99}){99})', '^[x-z]+$');
  const { schema } = fc.letrec<{ schema: unknown; list: unknown[] }>((tie) => ({
    list: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
    schema: fc.oneof(
      { maxDepth: 4 },
      reference,
      fc.record({ type: fc.constantFrom('string', 'integer', ['null', 'boolean'], 'bad') }),
      fc.record({ minLength: fc.nat(200), maxLength: fc.nat(10 ** 9) }),
      fc.record({ type: fc.constant('string'), pattern }),
      fc.record({ maximum: fc.double(), exclusiveMinimum: fc.double() }, { requiredKeys: [] }),
      fc.record({ enum: fc.array(fc.jsonValue(), { maxLength: 3 }) }),
      fc.record({ type: fc.constant('object'), anyOf: tie('list') }),
      fc.record({ oneOf: tie('list'), required: fc.subarray(['x', 'y']) }),
      fc.record({ allOf: tie('list') }),
      fc.record({ items: tie('schema'), minItems: fc.nat(3), nullable: fc.boolean() }),
      fc.record({ prefixItems: tie('list'), maxItems: fc.nat(10 ** 9) }),
      fc.record({
        properties: fc.dictionary(fc.constantFrom('x', 'y', '__proto__'), tie('schema')),
        required: fc.subarray(['x', 'y', 'z']),
      }),
      fc.record({ additionalProperties: tie('schema') }),
    ),
  }));
  const hostile = fc
    .tuple(schema, schema, schema, schema, schema)
    .map(([root, a, b, c, d]) =>
      typeof root === 'object' && root !== null ? { ...root, $defs: { a, b, c, d } } : root,
    );

  it('comes to a grammar within the limits, or is refused with a reason', () => {
    let numCompiled = 0;
    const property = fc.property(hostile, (value) => {
      const ebnf = compiledOrRefused(value);
      if (ebnf !== '') numCompiled++;
      expect(ebnf.match(/::=/g)?.length ?? 0).toBeLessThanOrEqual(LIMITS.grammarRules);
      expect(ebnf.length).toBeLessThan(2 * LIMITS.grammarEbnfCharacters);
    });
    fc.assert(property, { numRuns: 2000, seed: 12 });
    expect(numCompiled).toBeGreaterThan(100);
  });
});

/** Empty when it was refused; any other error is thrown on. */
function compiledOrRefused(schema: unknown): string {
  try {
    return schemaToEbnf(schema);
  } catch (error) {
    if (error instanceof GrammarError) return '';
    throw error;
  }
}

describe('a hostile regular expression', () => {
  it.each([
    ['((a{100}){100}){3}', `more than ${LIMITS.grammarRegexSize} characters`],
    ['a{20001}', `more than ${LIMITS.grammarRegexSize} characters`],
    [`${'('.repeat(70)}a${')'.repeat(70)}`, `more than ${LIMITS.grammarDepth} levels`],
  ])('%s is refused with the limit', (pattern, reason) => {
    expect(() => regexToEbnf(pattern, PLAIN_CHARACTERS)).toThrow(reason);
  });

  it('is bounded where its parts together repeat too much', () => {
    const pattern = '[a-z]{1,9000}'.repeat(3);
    expect(() => regexToEbnf(pattern, PLAIN_CHARACTERS)).toThrow('characters');
  });
});

describe('choices', () => {
  it('are written once, however often they are given', () => {
    const choices = ['yes', 'no', 'yes', 'yes'];
    expect(sourceToEbnf({ form: { kind: 'choice', choices } })).toBe('root ::= ("yes" | "no")\n');
  });
});

describe('a hostile grammar of a client', () => {
  it.each([
    ['open brackets', '['.repeat(400_000), ''],
    ['open quotes', '"\\"'.repeat(130_000), ''],
    ['classes that become long', 'r ::= [^а]\n'.repeat(36_000), 'more than 400000 characters'],
  ])('of %s takes a moment', (_, ebnf, reason) => {
    const start = process.cpuUsage();
    let fault = '';
    try {
      sourceToEbnf({ form: { kind: 'ebnf', ebnf } });
    } catch (error) {
      fault = String(error);
    }
    expect(fault).toContain(reason);
    expect(process.cpuUsage(start).user).toBeLessThan(1_000_000);
  });
});
