import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonWriter, toJson } from '../../../src/server/http/written-json.ts';

/** Texts that JSON has to escape, lone surrogates among them. */
const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('\ud83d', '\ude00', '"', '\\', '\n', '\u0000', '\u2028', '\u007f', 'é', '😀'),
);

test('a written object is what JSON.stringify makes of it', () => {
  const make = (index: number, content: string, last: string) => ({
    type: 'chunk',
    choices: [{ delta: { content }, index, left_out: undefined, none: null }],
    'quoted "field"': { last },
  });
  const write = jsonWriter(make);
  fc.assert(
    fc.property(fc.integer(), text, text, (index, content, last) => {
      expect(toJson(write(index, content, last))).toBe(JSON.stringify(make(index, content, last)));
    }),
  );
  expect(write(0, '', '').type).toBe('chunk');
});

test('values may come in any order in the object', () => {
  const make = (a: string, b: number) => ({ b, inner: [{ a }] });
  expect(toJson(jsonWriter(make)('"x"', -1.5))).toBe('{"b":-1.5,"inner":[{"a":"\\"x\\""}]}');
});
