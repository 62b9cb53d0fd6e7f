import { describe, expect, it } from 'vitest';
import { schemaToEbnf } from '../../src/grammar/schema-ebnf.ts';
import { afterThinking } from '../../src/grammar/thinking.ts';

function nested(depth: number): object {
  return depth === 0 ? { type: 'null' } : { type: 'array', items: nested(depth - 1) };
}

describe('a schema', () => {
  it.each([
    [false, 'at #: `false` allows no value'],
    [5, 'expected an object or a boolean'],
    [{ type: 'strin' }, '`type` is "strin"'],
    [{ type: [] }, '`type` must not be empty'],
    [{ enum: [] }, '`enum` must not be empty'],
    [{ enum: 'a' }, '`enum` must be a list'],
    [{ anyOf: [] }, '`anyOf` must not be empty'],
    [{ properties: { a: { not: {} } } }, 'at #/properties/a: `not` is not supported'],
    [{ type: 'array', uniqueItems: true }, '`uniqueItems` is not supported'],
    [{ type: 'integer', multipleOf: 2 }, '`multipleOf` is not supported'],
    [{ $ref: '#' }, 'leads in circles'],
    [{ $ref: '#/$defs/a' }, 'there is no `#/$defs/a`'],
    [{ $ref: 'https://example.com/schema' }, 'must start with `#/`'],
    [{ type: 'string', pattern: '(a' }, 'character 2: a `)` is missing'],
    [{ type: 'string', pattern: 'a(?=b)' }, 'look-around'],
    [{ type: 'string', pattern: '[\\n]' }, 'cannot hold'],
    [{ type: 'string', minLength: 3, maxLength: 2 }, 'below minLength'],
    [{ type: 'string', minLength: -1 }, 'whole number'],
    [{ type: 'integer', minimum: 3, maximum: 2 }, 'no number is within'],
    [{ type: 'integer', minimum: '3' }, '`minimum` must be a number'],
    [{ type: 'array', minItems: 3, maxItems: 2 }, '`maxItems` is below'],
    [{ type: 'object', minProperties: 2 }, '`minProperties`'],
    [{ required: ['a'], additionalProperties: false }, '`required` names `a`'],
    [{ allOf: [{ type: 'string' }, { type: 'integer' }] }, '`type` is given twice'],
    [{ properties: [] }, '`properties` must be an object'],
    [nested(100), 'nested too deeply'],
  ])('%j is refused with place and reason', (schema, reason) => {
    expect(() => schemaToEbnf(schema)).toThrow(reason);
  });

  it('that comes to too long a grammar is refused with the limit', () => {
    const values = Array.from({ length: 40_000 }, (_, index) => `value ${index}`);
    expect(() => schemaToEbnf({ enum: values })).toThrow('more than 400000 characters');
  });

  it('may have words that say nothing about validity', () => {
    const schema = { $schema: 'x', title: 'T', description: 'D', default: 1, examples: [1] };
    expect(schemaToEbnf(schema)).toBe(schemaToEbnf({}));
  });
});

describe('a grammar after a thought', () => {
  it('leaves literals, classes and comments alone', () => {
    const thought = { open: '<a>', close: '</a>', isOpen: true, next: '', answer: '' };
    const ebnf = 'root ::= "root" [root] root-1 # root\nroot-1 ::= root | ""';
    expect(afterThinking(ebnf, thought, true).split('\n').slice(0, 2)).toEqual([
      'answer-after-thought ::= "root" [root] root-1 # root',
      'root-1 ::= answer-after-thought | ""',
    ]);
  });
});
