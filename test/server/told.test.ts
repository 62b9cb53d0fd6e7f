import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { ApiError, badRequest } from '../../src/server/errors.ts';
import { told } from '../../src/told.ts';

const SOURCES = new URL('../../src/', import.meta.url).pathname;

/** Texts with halves of characters, and with control characters. */
const hostile = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    fc.integer({ min: 0xd7f0, max: 0xe010 }).map((code) => String.fromCharCode(code)),
    fc.integer({ min: 0, max: 0xa0 }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('🙂', 'é', 'a', '\r\n'),
  ),
  maxLength: 40,
});

function expectSound(text: string, max: number): void {
  expect(text.length).toBeLessThanOrEqual(max);
  expect(text).not.toMatch(/\p{Cc}/u);
  expect(() => encodeURI(text)).not.toThrow();
}

test('whatever a text is, what is told of it is short, can be encoded and controls no terminal', () => {
  fc.assert(
    fc.property(hostile, fc.integer({ min: 0, max: 60 }), (text, max) => {
      const once = told(text, max);
      expectSound(once, max);
      expect(told(once, max)).toBe(once);
    }),
    { numRuns: 2000 },
  );
});

test('an error is as sound, its path of a field too', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const long = text.repeat(500);
      const { message, param } = badRequest(long, long);
      expectSound(message, LIMITS.errorCharacters);
      expectSound(param ?? '', LIMITS.shortTextCharacters);
    }),
  );
});

test('whole characters and short texts stay as they are', () => {
  expect(told('naïve 🙂', 20)).toBe('naïve 🙂');
  expect(told('🙂🙂', 3)).toBe('🙂');
  expect(told('🙂🙂', 4)).toBe('🙂🙂');
  expect(told('a\u001b[31m\n\u0085', 20)).toBe('a\\u001b[31m\\n\\u0085');
  expect(new ApiError(400, 'x', 'a\nb').message).toBe('a\\nb');
});

/** A text that is put into another, or what an error says, cut without `told`. */
const BARE_CUT = /\$\{[^}]*\.slice\(0, [^-]|(?:message|reason)\.slice\(0, [^-]/;
/** Texts that clients never say: digests, our own dates and lists, and bodies that are sent on. */
const OURS = /digest\(|toString\(|date\.slice|names\.slice|#body\.slice|path\.length/;

test('no message is made of a text that was cut between the halves of a character', () => {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  const bare = files.flatMap((name) =>
    readFileSync(join(SOURCES, name), 'utf8')
      .split('\n')
      .filter((line) => BARE_CUT.test(line) && !OURS.test(line))
      .map((line) => `${name}: ${line.trim()}`),
  );
  expect(bare).toEqual([]);
});
