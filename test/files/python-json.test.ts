import { expect, test } from 'vitest';
import { parsePythonJson } from '../../src/files/python-json.ts';

test('numbers that JSON does not have are null', () => {
  const text = String.raw`{"limit": [0.0, Infinity], "low": -Infinity, "x": NaN, "say": "\"Infinity\\"}`;
  const say = '"Infinity\\';
  expect(parsePythonJson(text)).toEqual({ limit: [0, null], low: null, x: null, say });
});

test.each(['{"a": Infinity', '{"a": Infinite}', '{"a": "NaN}', '[nan]', 'Infinity"'])(
  '%s is refused',
  (text) => {
    expect(() => parsePythonJson(text)).toThrow(SyntaxError);
  },
);

test.each([`Infinity ${'"\\"'.repeat(2 ** 20)}`, `Infinity "${'\\"'.repeat(2 ** 22)}`])(
  'a large text that is no JSON is refused in time',
  (text) => {
    const start = performance.now();
    expect(() => parsePythonJson(text)).toThrow(SyntaxError);
    expect(performance.now() - start).toBeLessThan(10_000);
  },
);
