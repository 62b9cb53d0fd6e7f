/** Texts of speech have the tokens that Transformers leaves them. */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { applySpeechRule } from '../../../src/engine/sampling/speech-rule.ts';

const ids = z.array(z.int());
const referenceSchema = z.object({
  rule: z.object({
    suppressed: ids,
    suppressedFirst: ids,
    first: z.int(),
    none: z.int(),
    end: z.int(),
  }),
  cases: z.array(
    z.object({
      maxInitial: z.int().nullable(),
      written: ids,
      logits: z.array(z.number()),
      allowed: ids,
    }),
  ),
});

const FIXTURE = new URL('../../fixtures/speech-rules.json', import.meta.url);
const { rule, cases } = referenceSchema.parse(JSON.parse(await readFile(FIXTURE, 'utf8')));
const { first, none, end } = rule;
const suppressed = Int32Array.from(rule.suppressed);
const suppressedFirst = Int32Array.from(rule.suppressedFirst);

const possible = (logits: Float32Array) =>
  Array.from(logits.keys()).filter((id) => (logits[id] ?? 0) > -Infinity);

it('leaves the tokens that Transformers leaves', () => {
  expect(cases.length).toBeGreaterThan(100);
  for (const { maxInitial, written, logits, allowed } of cases) {
    const row = Float32Array.from(logits);
    const timestamps = { first, none, end, maxInitial };
    applySpeechRule(row, Int32Array.from(written), { suppressed, suppressedFirst, timestamps });
    expect(possible(row), JSON.stringify({ written, maxInitial })).toEqual(allowed);
  }
});

it('leaves a text without timestamps all but what is suppressed', () => {
  const row = new Float32Array(30);
  applySpeechRule(row, Int32Array.of(1), { suppressed, suppressedFirst });
  expect(possible(row)).toHaveLength(30 - suppressed.length);
});
