import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { explainZod } from '../src/explain-zod.ts';

const schema = z.strictObject({
  name: z.string().optional(),
  size: z.int().positive().max(8).optional(),
  share: z.number().multipleOf(0.5).optional(),
  texts: z.array(z.string()).min(1).optional(),
  kind: z.enum(['a', 'b']).optional(),
  id: z.string().regex(/^x/).optional(),
  one: z.string().min(1).optional(),
  either: z.union([z.string(), z.array(z.string())]).optional(),
  own: z.string('expected a name of letters').optional(),
  deep: z.object({ list: z.array(z.object({ id: z.int() })) }).optional(),
  words: z.record(z.string().max(1), z.boolean()).optional(),
});

test.each<[unknown, string]>([
  [{ name: 1 }, 'name: expected a text'],
  [{ size: 1.5 }, 'size: expected a whole number'],
  [{ size: 0 }, 'size: expected more than 0'],
  [{ size: 9 }, 'size: expected at most 8'],
  [{ share: 0.7 }, 'share: expected a multiple of 0.5'],
  [{ texts: [] }, 'texts: expected at least 1 item'],
  [{ kind: 'c' }, 'kind: expected "a" or "b"'],
  [{ id: 'y' }, 'id: expected a text in the form of /^x/'],
  [{ one: '' }, 'one: expected at least 1 character'],
  [{ either: 1 }, 'either: expected a text, or expected a list'],
  [{ own: 1 }, 'own: expected a name of letters'],
  [{ deep: { list: [{ id: 1 }, {}] } }, 'deep.list.1.id: expected a number, which is missing'],
  [{ words: { ab: true } }, 'words.ab: expected at most 1 character'],
  [{ extra: 1, more: 2 }, 'there is no `extra`, `more`'],
  [{ name: 1, kind: 'c' }, 'name: expected a text; kind: expected "a" or "b"'],
  [[], 'expected an object'],
])('a fault is said in our words: %j', (given, text) => {
  const { error } = schema.safeParse(given);
  expect(error && explainZod(error)).toBe(text);
});

test('many faults are cut off', () => {
  const { error } = z.array(z.string()).safeParse([1, 2, 3, 4, 5, 6, 7]);
  expect(error && explainZod(error)).toMatch(/^0: expected a text; .*; and 2 more$/);
});

test('no source shows the words of zod', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `src/${name}`);
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => readFileSync(file, 'utf8').includes('prettifyError'))).toEqual([]);
});
