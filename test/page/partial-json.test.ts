import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkJson, schemaFault } from '../../web/src/views/chat/model/json-check.ts';
import { parsePartialJson } from '../../web/src/views/chat/model/partial-json.ts';

test('every beginning of JSON is a beginning of JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(), fc.boolean(), (value, at, isPretty) => {
      const text = JSON.stringify(value, null, isPretty ? 2 : 0);
      expect(parsePartialJson(text.slice(0, at % (text.length + 1)))).not.toBe(null);
    }),
    { numRuns: 2000 },
  );
});

test('what is whole is read as it is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value);
      expect(parsePartialJson(text)).toEqual({ value: JSON.parse(text) });
    }),
  );
});

test.each(['{"a": 1}}', '[1, 2}', '{"a": tru3', '{a', 'hello', '[1,,'])('%s never is', (text) => {
  expect(parsePartialJson(text)).toBe(null);
});

const SCHEMA = JSON.stringify({
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 18 } },
  required: ['name', 'age'],
  additionalProperties: false,
});

test('what may still come is no fault while an answer is written', () => {
  expect(checkJson('{"name": "A', SCHEMA, false)).toEqual({ state: 'writing' });
  // 1 may become 18.
  expect(checkJson('{"name": "Ada", "age": 1', SCHEMA, false)).toEqual({ state: 'writing' });
  expect(checkJson('', SCHEMA, false)).toEqual({ state: 'writing' });
});

test('what nothing can mend is a fault at once', () => {
  expect(checkJson('{"name": 7', SCHEMA, false)).toMatchObject({
    state: 'bad',
    faults: [{ place: '/name' }],
  });
  expect(checkJson('{"other": "', SCHEMA, false).state).toBe('bad');
  expect(checkJson('Sure! Here', SCHEMA, false).state).toBe('bad');
});

test('a whole answer keeps to its schema, or says where it does not', () => {
  expect(checkJson('{"name": "Ada", "age": 36}', SCHEMA, true)).toEqual({ state: 'good' });
  expect(checkJson('{"name": "Ada", "age": 7}', SCHEMA, true)).toMatchObject({
    state: 'bad',
    faults: [{ place: '/age' }],
  });
  expect(checkJson('{"name": "Ada"', SCHEMA, true)).toMatchObject({ state: 'bad' });
  expect(checkJson('{"name": "Ada"}', '', true)).toEqual({ state: 'good' });
});

test('a schema that is typed is JSON and an object', () => {
  expect(schemaFault('{}')).toBe(null);
  expect(schemaFault('[]')).toBe('A schema is an object.');
  expect(schemaFault('{')).toMatch(/JSON/);
});
