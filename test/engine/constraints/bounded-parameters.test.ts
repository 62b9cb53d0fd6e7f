/** Bounds of arguments that a model writes one by one, as they are: every format of tool calls that does. */
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { TOOL_CALL_FORMATS } from '../../../src/front/tool-calls/formats.ts';
import { ToolCallParser } from '../../../src/front/tool-calls/tool-call-parser.ts';
import { writeCalls } from '../../../src/front/tool-calls/write-calls.ts';
import { sourceToEbnf } from '../../../src/grammar/source-ebnf.ts';
import type { ToolCallLayout } from '../../../src/grammar/tool-call-layout.ts';
import { END, textOfBytes, tokensOfText } from '../../support/byte-vocabulary.ts';
import { Draws } from '../../support/drawn-tools.ts';
import { FollowedText, useGrammarThread } from '../../support/followed-text.ts';
import { everyOrLong, orLong } from '../../support/long-runs.ts';

const NUM_TEXTS = orLong(6, 60);

const thread = useGrammarThread();

const parameters = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2, maxLength: 4 },
    code: { type: 'string', pattern: '^x[^\\n]{2,5}$' },
    at: { type: 'string', format: 'date' },
    unit: { enum: ['m', 's'] },
    n: { type: 'integer', minimum: 5, maximum: 20 },
    list: {
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: 3 },
      minItems: 1,
      maxItems: 2,
    },
    more: { $ref: '#/$defs/more' },
  },
  required: ['name', 'code', 'at', 'unit', 'n', 'list', 'more'],
  additionalProperties: false,
  $defs: {
    more: {
      type: 'object',
      properties: { s: { type: 'string', maxLength: 2 } },
      required: ['s'],
      additionalProperties: false,
    },
  },
};
const isValid = new Ajv({ formats: { date: /^\d{4}-\d\d-\d\d$/ } }).compile(parameters);

const right = {
  name: '<é>',
  code: 'x"a"',
  at: '1999-12-21',
  unit: 's',
  n: 12,
  list: ['abc', '"'],
  more: { s: 'ab' },
};
const WRONG: readonly (readonly [string, object])[] = [
  ['a text that is too short', { name: 'a' }],
  ['a text that is too long', { name: '日本語日本' }],
  ['a pattern that is kept too short', { code: 'xa' }],
  ['a pattern that is kept too long', { code: 'xabcdefg' }],
  ['a text that is no date', { at: '1999-13-31' }],
  ['a value of another enum', { unit: 'km' }],
  ['a number that is too large', { n: 21 }],
  ['an item that is too long', { list: ['abcd'] }],
  ['an item that is too short', { list: ['a', ''] }],
  ['a list that is too long', { list: ['a', 'b', 'c'] }],
  ['an empty list', { list: [] }],
  ['a member that is too long', { more: { s: 'abc' } }],
];

const formats = TOOL_CALL_FORMATS.filter(({ layout }) => layout.call.kind === 'parameters');

/** Lists and objects within arguments of Gemma and Python are forced as JSON, and written otherwise. */
const raw = formats.filter(
  ({ layout: { call } }) => call.kind === 'parameters' && call.value.kind === 'raw',
);

function ebnfOf(layout: ToolCallLayout, isRequired: boolean): string {
  const tools = [
    { function: { name: 'do', strict: true, parameters } },
    { function: { name: 'free' } },
  ];
  return sourceToEbnf({ form: { kind: 'tools', layout, tools, isRequired, parallel: true } });
}

/** Whether the grammar lets a model write it. */
async function take(layout: ToolCallLayout, whole: string): Promise<boolean> {
  const followed = new FollowedText(thread, ebnfOf(layout, true));
  try {
    for (const id of tokensOfText(whole, (below) => below - 1)) {
      if (!followed.allowed().includes(id)) return false;
      followed.accept(id);
    }
    return true;
  } finally {
    await followed.close();
  }
}

it.each(everyOrLong(2, raw).map((format) => [format.names.join(' '), format] as const))(
  'bounds are kept where calls of %s are as they are written',
  async (_, { layout }) => {
    const written = (args: object): string =>
      writeCalls(layout, [{ name: 'do', arguments: { ...right, ...args }, parameters }]);
    expect(await take(layout, written({}))).toBe(true);
    for (const [what, args] of WRONG) {
      expect([what, await take(layout, written(args))]).toEqual([what, false]);
    }
  },
);

describe.each(everyOrLong(2, formats).map((format) => [format.names.join(' '), format] as const))(
  'bounded arguments of %s',
  (_, { layout }) => {
    it('are counted beside the grammar', () => {
      expect(ebnfOf(layout, true)).toMatch(/^#counted /);
    });

    it('are kept by all that may be written', async () => {
      let numWhole = 0;
      for (let seed = 0; seed < NUM_TEXTS; seed++) {
        const draws = new Draws(seed);
        const followed = new FollowedText(thread, ebnfOf(layout, seed % 2 === 0));
        if (seed % 2 === 1) {
          const begin = `${layout.openIsOptional ? '' : 'a'}${layout.open}${layout.begin}`;
          for (const id of tokensOfText(begin, (below) => draws.below(below))) followed.accept(id);
        }
        for (;;) {
          const allowed = followed.allowed().filter(isWhole);
          const length = followed.tokenIds.length;
          // Texts end, and what ends them is begun, more often than at random.
          const ends = allowed.filter((id) => id === END || '<|"])}\n'.includes(charOf(id)));
          const isSoon = ends.length > 0 && draws.below(100) < 20 + length / 4;
          const id = allowed.includes(END) ? END : draws.of(isSoon ? ends : allowed);
          if (id === END || length > 2500) break;
          followed.accept(id);
        }
        const whole = textOfBytes(followed.tokenIds, false);
        await followed.close();
        numWhole += checked(whole);
      }
      expect(numWhole).toBeGreaterThanOrEqual(NUM_TEXTS / 3);
    }, 240_000);

    /** Number of the text's calls, all of which keep to their schema. */
    const checked = (whole: string): number => {
      const known = new Map<string, unknown>([
        ['do', parameters],
        ['free', undefined],
      ]);
      const parser = new ToolCallParser(layout, { known, withheld: new Set() });
      const calls: { name: string; json: string }[] = [];
      for (const event of [...parser.push(whole), ...parser.flush(false)]) {
        if (event.type === 'call') calls.push({ name: event.name, json: '' });
        const call = calls.at(-1);
        if (event.type === 'arguments' && call !== undefined) call.json += event.text;
      }
      const done = calls.slice(0, parser.numWhole).filter(({ name }) => name === 'do');
      for (const { json } of done) {
        const value: unknown = JSON.parse(json);
        expect({ whole, value, isValid: isValid(value) }).toEqual({ whole, value, isValid: true });
      }
      return done.length;
    };
  },
);

/** Bytes beyond ASCII that markers have; others may come to none of a text's characters. */
const MARKED = new Set(Buffer.from('｜▁'));

function isWhole(id: number): boolean {
  return id < 0x80 || id === END || MARKED.has(id) || textOfBytes([id], false) !== '\ufffd';
}

function charOf(id: number): string {
  return id < 256 ? String.fromCharCode(id) : '\0';
}
