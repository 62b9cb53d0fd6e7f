/** Masks of counted texts, token by token, whatever the grammar lets be. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeCalls } from '../../src/front/tool-calls/write-calls.ts';
import { byteLevel } from '../../src/front/grammars/grammar-vocabulary.ts';
import { CountedMatcher, type TokenMatcher } from '../../src/grammar/counted-matcher.ts';
import { splitCounts } from '../../src/grammar/counted-text.ts';
import { CountedTokens } from '../../src/grammar/counted-tokens.ts';
import { sourceToEbnf } from '../../src/grammar/source-ebnf.ts';
import type { ToolCallLayout } from '../../src/grammar/tool-call-layout.ts';
import { toolCallFormat } from '../support/chat-formats.ts';
import { orLong } from '../support/long-runs.ts';

const NUM_RUNS = orLong(30, 300);

const bounds = fc.tuple(fc.option(fc.nat(6)), fc.option(fc.nat(6))).map(([min, more]) => ({
  ...(min === null ? {} : { minLength: min }),
  ...(more === null ? {} : { maxLength: (min ?? 0) + more }),
}));

const value = fc.array(fc.constantFrom('a', 'é', '日', '😀', '<', '</', '\n', '"', ' '), {
  maxLength: 8,
  size: 'max',
});

/** Tokens that are pieces of a text, of one byte and of several. */
function piecesOf(
  text: string,
  cuts: readonly (readonly [number, number])[],
  more: readonly string[],
): Uint8Array[] {
  const bytes = Buffer.from(text);
  const pieces = cuts.map(([at, length]) => {
    const start = Math.floor(at * bytes.length);
    return bytes.subarray(start, start + length).toString('latin1');
  });
  const broken = pieces.map((piece, index) => `${piece}${index % 2 === 0 ? 'a' : '<'}`);
  const single = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));
  return [...new Set([...single, ...pieces, ...broken, ...more.map(latin1)])].map((piece) =>
    Buffer.from(piece, 'latin1'),
  );
}

/** Parts of what ends a text, each with a character that makes it none. */
function brokenEnds({ call }: ToolCallLayout): string[] {
  const end =
    call.kind === 'parameters' && call.value.kind === 'raw' ? call.value.close.trim() : '';
  return [1, 2, 3].flatMap((from) =>
    Array.from(end.slice(from + 2), (_, index) => `${end.slice(from, from + 2 + index)}x`),
  );
}

const cut = fc.tuple(
  fc.double({ min: 0, max: 0.999, noNaN: true }),
  fc.integer({ min: 2, max: 12 }),
);

describe.each(['qwen3_coder', 'glm45', 'deepseek_v32', 'gemma4', 'lfm2', 'seed_oss', 'hermes'])(
  '%s',
  (format) => {
    it('allows a token if and only if it takes it', async () => {
      const { layout } = toolCallFormat(format);
      const drawn = fc.record({
        text: bounds,
        hasPattern: fc.boolean(),
        item: bounds,
        written: value,
        items: fc.array(value, { maxLength: 2 }),
        cuts: fc.array(cut, { minLength: 80, maxLength: 80 }),
        choices: fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })),
      });
      let numRefused = 0;
      const property = fc.asyncProperty(
        drawn,
        async ({ text, item, hasPattern, cuts, choices, ...values }) => {
          const parameters = {
            type: 'object',
            properties: {
              name: { type: 'string', ...text, ...(hasPattern ? { pattern: '^[^"]*$' } : {}) },
              n: { type: 'integer' },
              list: { type: 'array', items: { type: 'string', ...item } },
            },
            required: ['name', 'n', 'list'],
          };
          const tools = [{ function: { name: 'do', strict: true, parameters } }];
          const form = { kind: 'tools' as const, layout, tools, isRequired: false, parallel: true };
          const { counts } = splitCounts(sourceToEbnf({ form }));
          fc.pre(counts !== null);
          const args = {
            name: values.written.join(''),
            n: 12,
            list: values.items.map((each) => each.join('')),
          };
          const call = writeCalls(layout, [{ name: 'do', arguments: args, parameters }]);
          const bytes = piecesOf(call, cuts, brokenEnds(layout));
          const tokens = new CountedTokens(bytes.map((each) => byteLevel(each)));
          const matcher = new CountedMatcher(anyTokens(bytes.length), tokens, counts);
          const draw = (): number => choices.next().value;
          for (let at = 0; at < Buffer.byteLength(call);) {
            const mask = await matcher.getNextTokenBitmask();
            const allowed: number[] = [];
            const taken: number[] = [];
            for (const id of bytes.keys()) {
              if ((((mask[id >>> 5] ?? 0) >>> (id & 31)) & 1) === 1) allowed.push(id);
              if (!matcher.acceptToken(id)) continue;
              taken.push(id);
              matcher.rollBack(1);
            }
            expect(allowed).toEqual(taken);
            numRefused += bytes.length - allowed.length;
            const rest = Buffer.from(call).subarray(at);
            const next = allowed.filter((id) => {
              const token = bytes[id] ?? new Uint8Array();
              return token.length > 0 && rest.subarray(0, token.length).equals(token);
            });
            const id = next[Math.floor(draw() * next.length)];
            // The written call breaks a bound.
            if (id === undefined) break;
            matcher.acceptToken(id);
            at += bytes[id]?.length ?? 1;
          }
        },
      );
      await fc.assert(property, { numRuns: NUM_RUNS, seed: 5 });
      expect(numRefused).toBeGreaterThan(1000);
    }, 120_000);
  },
);

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** A grammar of all texts. */
function anyTokens(numTokens: number): TokenMatcher {
  return {
    acceptToken: () => true,
    rollBack: () => undefined,
    getNextTokenBitmask: () => Promise.resolve(new Int32Array(Math.ceil(numTokens / 32)).fill(-1)),
    isTerminated: () => false,
    dispose: () => undefined,
  };
}
