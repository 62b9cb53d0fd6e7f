import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sourceToEbnf } from '../../../src/grammar/source-ebnf.ts';
import { toolCallsEbnf } from '../../../src/grammar/tool-calls-ebnf.ts';
import { boundedSchema } from '../../support/bounded-schemas.ts';
import { END, textOfBytes, tokensOfText } from '../../support/byte-vocabulary.ts';
import { toolCallFormat } from '../../support/chat-formats.ts';
import { draws, FollowedText, useGrammarThread } from '../../support/followed-text.ts';
import { orLong } from '../../support/long-runs.ts';

const MAX_TOKENS = 120;
const NUM_RUNS = orLong(7, 20);

const thread = useGrammarThread();

const argumentsOf = (...schemas: readonly object[]) => ({
  type: 'object',
  properties: Object.fromEntries(schemas.map((schema, index) => [`p${index}`, schema])),
  required: schemas.map((_, index) => `p${index}`),
});

function formOf(format: string, isRequired: boolean, ...parameters: readonly object[]) {
  const { layout } = toolCallFormat(format);
  const tools = parameters.map((schema, index) => ({
    function: { name: `do${'_it'.repeat(index)}`, strict: true, parameters: schema },
  }));
  const free = { function: { name: 'free' } };
  return { layout, tools: [...tools, free], isRequired, parallel: true };
}

/** A choice that prefers what ends a text after some tokens. */
function choose(allowed: readonly number[], numTokens: number, draw: () => number): number {
  const ends = allowed.filter((id) => id === END || '"]}<|'.includes(String.fromCharCode(id)));
  const from = ends.length > 0 && draw() < numTokens / 60 ? ends : allowed;
  return from[Math.floor(draw() * from.length)] ?? END;
}

describe.each(['hermes', 'mistral', 'llama3_json', 'kimi_k2', 'deepseek_v31'])(
  'bounded strings in calls of %s',
  (format) => {
    it('have the masks of a grammar with a rule for each character', async () => {
      let numCounted = 0;
      let numInside = 0;
      const drawn = fc.tuple(boundedSchema, boundedSchema, boundedSchema, fc.boolean(), draws);
      const property = fc.asyncProperty(drawn, async ([a, b, c, isRequired, draw]) => {
        const form = formOf(
          format,
          isRequired,
          argumentsOf(a.schema, b.schema),
          argumentsOf(c.schema),
        );
        const counted = sourceToEbnf({ form: { kind: 'tools', ...form } });
        if (counted.startsWith('#')) numCounted++;
        const text = new FollowedText(thread, counted);
        const exact = new FollowedText(thread, toolCallsEbnf(form, false));
        const { layout } = form;
        const begun = isRequired
          ? []
          : tokensOfText(`a" ${layout.open}${layout.begin}`, (n) => n - 1);
        for (const id of layout.openIsOptional ? [] : begun) {
          for (const each of [text, exact]) each.accept(id);
        }
        for (;;) {
          const allowed = text.allowed();
          expect([textOfBytes(text.tokenIds, false), allowed]).toEqual([
            textOfBytes(exact.tokenIds, false),
            exact.allowed(),
          ]);
          const next = choose(allowed, text.tokenIds.length, draw);
          if (next === END || text.tokenIds.length === MAX_TOKENS) break;
          for (const each of [text, exact]) each.accept(next);
        }
        if (textOfBytes(text.tokenIds, false).includes('"p0": ')) numInside++;
        await text.close();
        await exact.close();
      });
      await fc.assert(property, { numRuns: NUM_RUNS, seed: 17 });
      expect(numCounted).toBeGreaterThan(0.6 * NUM_RUNS);
      expect(numInside).toBeGreaterThan(0.15 * NUM_RUNS);
    }, 240_000);

    it('are those of the tool that is called, in each call', async () => {
      const form = formOf(
        format,
        false,
        argumentsOf({ type: 'string', maxLength: 2 }),
        argumentsOf({ type: 'string', maxLength: 4 }),
      );
      const ebnf = sourceToEbnf({ form: { kind: 'tools', ...form } });
      expect(ebnf).toMatch(/^#counted /);
      const { layout } = form;
      const call = (name: string, value: string): string => {
        const args = JSON.stringify({ p0: value }).replace(':', ': ');
        if (layout.call.kind === 'object') {
          const { nameKey, argumentsKey } = layout.call;
          return `{"${nameKey}": "${name}", "${argumentsKey}": ${args}}`;
        }
        if (layout.call.kind !== 'named') throw new Error('not of this test');
        const { open, number, afterName, close } = layout.call;
        return `${open}${name}${number === null ? '' : `${number}0`}${afterName}${args}${close}`;
      };
      const whole = (...calls: readonly string[]): string => {
        const { open, begin, separator, end } = layout;
        if (layout.repeats === 'calls') return open + begin + calls.join(separator) + end;
        return calls.map((each) => open + begin + each + end).join(separator);
      };
      const take = async (text: string): Promise<boolean> => {
        const followed = new FollowedText(thread, ebnf);
        try {
          for (const id of tokensOfText(text, (below) => below - 1)) {
            if (!followed.allowed().includes(id)) return false;
            followed.accept(id);
          }
          return true;
        } finally {
          await followed.close();
        }
      };
      expect(await take(whole(call('do', 'ab')))).toBe(true);
      expect(await take(whole(call('do', 'abc')))).toBe(false);
      expect(await take(whole(call('do_it', 'abcd')))).toBe(true);
      expect(await take(whole(call('do_it', 'abcde')))).toBe(false);
      if (layout.repeats === 'never') return;
      expect(await take(whole(call('do_it', 'abcd'), call('do', 'ab')))).toBe(true);
      expect(await take(whole(call('do_it', 'abcd'), call('do', 'abc')))).toBe(false);
    });
  },
);
