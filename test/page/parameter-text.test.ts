import { expect, test } from 'vitest';
import { parseParameter, showParameter } from '../../web/src/views/chat/model/parameter-text.ts';
import type { Parameter } from '../../web/src/views/chat/model/parameters.ts';

function parameter(fields: Partial<Parameter>): Parameter {
  return { name: 'x', kind: 'number', note: '', range: '0 to 2', min: 0, max: 2, ...fields };
}

test('what is typed becomes a value of its kind', () => {
  expect(parseParameter(parameter({}), '0,5')).toBe(0.5);
  expect(parseParameter(parameter({}), ' ')).toBe(undefined);
  expect(parseParameter(parameter({ kind: 'boolean' }), 'false')).toBe(false);
  expect(parseParameter(parameter({ kind: 'texts' }), 'a\n\nb')).toEqual(['a', 'b']);
  expect(parseParameter(parameter({ kind: 'json' }), '{"7": 1}')).toEqual({ 7: 1 });
  expect(showParameter('texts', ['a', 'b'])).toBe('a\nb');
});

test('faults are told', () => {
  expect(() => parseParameter(parameter({}), '3')).toThrow('Expected 0 to 2.');
  expect(() => parseParameter(parameter({ kind: 'integer' }), '1.5')).toThrow('whole number');
  expect(() => parseParameter(parameter({ kind: 'json' }), '{')).toThrow(/JSON/);
});
