import { Ajv2020 } from 'ajv/dist/2020.js';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactSchemaToEbnf, schemaToEbnf } from '../../../src/grammar/schema-ebnf.ts';
import { sourceToEbnf } from '../../../src/grammar/source-ebnf.ts';
import { boundedSchema } from '../../support/bounded-schemas.ts';
import { END, textOfBytes, tokensOfText } from '../../support/byte-vocabulary.ts';
import { draws, FollowedText, useGrammarThread } from '../../support/followed-text.ts';
import { orLong } from '../../support/long-runs.ts';

const MAX_TOKENS = 150;
const NUM_RUNS = orLong(20, 150);

const thread = useGrammarThread();
const ajv = new Ajv2020({ strict: false });

/** A choice that prefers what ends a text after some tokens. */
function choose(allowed: readonly number[], numTokens: number, draw: () => number): number {
  const ends = allowed.filter((id) => id === END || '"]}'.includes(textOfFirst(id)));
  const from = ends.length > 0 && draw() < numTokens / 60 ? ends : allowed;
  return from[Math.floor(draw() * from.length)] ?? END;
}

function textOfFirst(id: number): string {
  return id < 128 ? String.fromCharCode(id) : '?';
}

/** Follows a text with these tokens, of which each is allowed, and so is the end after them. */
async function follow(ebnf: string, tokenIds: readonly number[]): Promise<void> {
  const text = new FollowedText(thread, ebnf);
  for (const tokenId of tokenIds) {
    const isAllowed = text.allowed().includes(tokenId);
    expect([textOfBytes(text.tokenIds, false), tokenId, isAllowed]).toEqual([
      textOfBytes(text.tokenIds, false),
      tokenId,
      true,
    ]);
    text.accept(tokenId);
  }
  expect(text.allowed()).toContain(END);
  await text.close();
}

const mayEnd = async (ebnf: string, written: string): Promise<boolean> =>
  follow(
    ebnf,
    tokensOfText(written, (below) => below - 1),
  ).then(
    () => true,
    () => false,
  );

describe('bounded strings', () => {
  it('have the masks of a grammar with a rule for each character, and valid texts', async () => {
    let numFinished = 0;
    let numCounted = 0;
    const property = fc.asyncProperty(boundedSchema, draws, async ({ schema }, draw) => {
      const counted = schemaToEbnf(schema);
      if (counted.startsWith('#')) numCounted++;
      const exact = new FollowedText(thread, exactSchemaToEbnf(schema));
      const text = new FollowedText(thread, counted);
      for (;;) {
        const allowed = text.allowed();
        expect(allowed).toEqual(exact.allowed());
        const next = choose(allowed, text.tokenIds.length, draw);
        if (next === END || text.tokenIds.length === MAX_TOKENS) break;
        const after = text.allowedAfter([next]);
        expect(after).toEqual(exact.allowedAfter([next]));
        const second = choose(after, text.tokenIds.length, draw);
        const draft = second === END ? [next] : [next, second];
        expect(text.allowedAfter(draft)).toEqual(exact.allowedAfter(draft));
        for (const each of [text, exact]) each.accept(next);
      }
      const isWhole = text.allowed().includes(END);
      if (isWhole) numFinished++;
      const value: unknown = isWhole ? JSON.parse(textOfBytes(text.tokenIds)) : null;
      expect([value, !isWhole || ajv.validate(schema, value)]).toEqual([value, true]);
      await text.close();
      await exact.close();
    });
    await fc.assert(property, { numRuns: NUM_RUNS, seed: 7 });
    expect(numFinished).toBeGreaterThan(NUM_RUNS / 2);
    expect(numCounted).toBeGreaterThan(NUM_RUNS / 2);
  }, 240_000);

  it('take every valid value, in any tokens and escapes', async () => {
    const drawn = boundedSchema.chain(({ schema, text }) => text.map((each) => ({ schema, each })));
    const property = fc.asyncProperty(drawn, draws, async ({ schema, each }, draw) => {
      expect(ajv.validate(schema, JSON.parse(each))).toBe(true);
      await follow(
        schemaToEbnf(schema),
        tokensOfText(each, (below) => Math.floor(draw() * below)),
      );
    });
    await fc.assert(property, { numRuns: NUM_RUNS, seed: 3 });
  }, 240_000);

  it('go on after any of their tokens, as after a restart', async () => {
    const ebnf = schemaToEbnf({ prefixItems: [{ maxLength: 3 }, { minLength: 2, maxLength: 4 }] });
    const tokenIds = tokensOfText('["é\\n😀", "\\u00e9ab"]', () => 0);
    const whole = new FollowedText(thread, ebnf);
    for (const [index, tokenId] of tokenIds.entries()) {
      const restarted = new FollowedText(thread, ebnf, tokenIds.slice(0, index));
      expect(restarted.allowed()).toEqual(whole.allowed());
      await restarted.close();
      whole.accept(tokenId);
    }
    await whole.close();
  });

  it.each([
    ['aaa', true],
    ['aaaa', false],
    ['😀😀😀', true],
    ['😀😀😀😀', false],
    ['\\n\\u00e9\\\\', true],
    ['\\n\\u00e9\\\\a', false],
    ['é\\"日', true],
    ['', false],
  ])('of 1 to 3 characters: %j is allowed: %j', async (written, isAllowed) => {
    const ebnf = schemaToEbnf({ type: 'string', minLength: 1, maxLength: 3 });
    expect(ebnf).toMatch(/^#counted /);
    expect(await mayEnd(ebnf, `"${written}"`)).toBe(isAllowed);
  });

  it('of any length take escapes', async () => {
    const ebnf = schemaToEbnf({ type: 'string', minLength: 1000, maxLength: 10 ** 9 });
    expect(await mayEnd(ebnf, `"${'\\u0041'.repeat(1000)}"`)).toBe(true);
    expect(await mayEnd(ebnf, `"${'a'.repeat(999)}"`)).toBe(false);
  });

  it('are no longer in a draft', async () => {
    const text = new FollowedText(thread, schemaToEbnf({ type: 'string', maxLength: 2 }));
    const [quote, a, three] = ['"', 'a', 'bbbb'].map((each) => tokensOfText(each, (n) => n - 1)[0]);
    text.accept(quote ?? 0);
    expect(text.takesDraft([a ?? 0, a ?? 0])).toBe(true);
    expect(text.takesDraft([a ?? 0, three ?? 0])).toBe(false);
    await text.close();
  });

  it('are counted in a place that a reference leads into again', async () => {
    const ebnf = schemaToEbnf({
      $ref: '#/$defs/node',
      $defs: {
        node: {
          properties: { name: { maxLength: 2 }, next: { $ref: '#/$defs/node' } },
          required: ['name'],
        },
      },
    });
    expect(await mayEnd(ebnf, '{"name": "ab", "next": {"name": "cd"}}')).toBe(true);
    expect(await mayEnd(ebnf, '{"name": "ab", "next": {"name": "cde"}}')).toBe(false);
  });

  it.each([
    [true, '', 'so "long" </x </</t>\n\n["ab"]'],
    [false, '', '<t>"</t>["ab"]'],
    [false, '', '["ab"]'],
    [false, '<a>', '<t>x</t>\n<a>["ab"]'],
    [false, '<a>', '<a>["ab"]'],
  ])(
    'are counted after a thought (open: %j, before the answer: %j)',
    async (isOpen, answer, start) => {
      const thought = { open: '<t>', close: '</t>', isOpen, next: '', answer };
      const schema = { type: 'array', items: { type: 'string', maxLength: 2 } };
      const ebnf = sourceToEbnf({ form: { kind: 'json_schema', schema }, thought });
      expect(ebnf).toMatch(/^#counted /);
      expect(await mayEnd(ebnf, start)).toBe(true);
      expect(await mayEnd(ebnf, start.replace('ab', 'abc'))).toBe(false);
    },
  );

  it('are counted after a thought that begins as an array may', async () => {
    const thought = { open: '["T]', close: '[/T]', isOpen: false, next: '', answer: '' };
    const schema = { type: 'array', items: { type: 'string', maxLength: 2 } };
    const form = { kind: 'json_schema', schema } as const;
    // Its quote could begin a string.
    expect(sourceToEbnf({ form, thought })).not.toMatch(/^#counted /);
    const ebnf = sourceToEbnf({ form, thought: { ...thought, open: '[T]' } });
    expect(ebnf).toMatch(/^#counted /);
    expect(await mayEnd(ebnf, '["ab"]')).toBe(true);
    expect(await mayEnd(ebnf, '["abc"]')).toBe(false);
    expect(await mayEnd(ebnf, '[T]"[["[/T]["ab"]')).toBe(true);
    expect(await mayEnd(ebnf, '[T]"[["[/T]["abc"]')).toBe(false);
  });
});
