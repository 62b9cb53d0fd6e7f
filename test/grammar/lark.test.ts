/** Lark's notation: what is understood, what is refused, and the texts of it. */
import { afterAll, describe, expect, it, test } from 'vitest';
import type { ToolCallLayout } from '../../src/grammar/tool-call-layout.ts';
import { sourceToEbnf } from '../../src/grammar/source-ebnf.ts';
import { LIMITS } from '../../src/limits.ts';
import { toolCallFormat } from '../support/chat-formats.ts';
import { engineRequest } from '../support/engine-requests.ts';
import { EOS, TOKEN_TEXTS } from '../support/grammar-vocabulary.ts';
import { APPLY_PATCH, APPLY_PATCH_IN_ENVIRONMENT, PATCH } from '../support/apply-patch.ts';
import { RandomTextEngine } from '../support/random-text-engine.ts';

const engine = new RandomTextEngine();
afterAll(() => engine.grammars.release());

const lark = (definition: string) => sourceToEbnf({ form: { kind: 'lark', definition } });

let lastId = 0;

/** Whether each text is all of a text of the grammar. */
async function accepts(ebnf: string, texts: readonly string[]): Promise<boolean[]> {
  const ids = texts.map(() => ++lastId);
  for (const [index, text] of texts.entries()) {
    const outputTokenIds = Int32Array.from(text, (each) => TOKEN_TEXTS.indexOf(each));
    const sampling = { temperature: 0, seed: 1n, allowedTokenIds: Int32Array.of(EOS) };
    const options = { maxTokens: outputTokenIds.length + 1, stopTokenIds: [EOS], sampling };
    const id = ids[index] ?? 0;
    await engine.add(
      engineRequest({ id, grammar: { ebnf, field: 't' }, outputTokenIds, ...options }),
    );
  }
  await engine.runToEnd();
  return ids.map((id) => engine.outputs.get(id)?.at(-1)?.finishReason === 'stop');
}

describe('texts', () => {
  test.each<[string, string, readonly string[], readonly string[]]>([
    [
      'strings and alternatives',
      'start: "a" | "b"\n  | "c" "d"',
      ['a', 'b', 'cd'],
      ['c', 'ab', ''],
    ],
    ['rules and terminals', 'start: x X\nx: "1" | X\nX: "2"', ['12', '22'], ['11', '2']],
    ['repetitions', 'start: "a"? "b"* "c"+ "d"~2 "e"~1..2', ['bccdde', 'cddee'], ['dde', 'cde']],
    ['groups and options', 'start: ("a" | "b") ["c"]', ['a', 'bc'], ['c', 'ab']],
    ['ranges', 'start: "a".."c" "0".."9"', ['a0', 'c9'], ['d0', 'a']],
    ['regular expressions', 'start: /[a-c]{2}|x\\/y/', ['ab', 'x/y'], ['a', 'x']],
    ['flags', 'start: "Ab"i /[k-m]/i /./s', ['aBK\n', 'ABmx'], ['abz\n']],
    ['a dot is no line break', 'start: /.+/', ['a b'], ['a\n']],
    ['escapes', 'start: "\\n\\t\\"\\\\\\x41\\u0042"', ['\n\t"\\AB'], ['n']],
    ['comments, aliases, priorities', '// x\n?start.2: a -> one // y\n!a: "b" # z\n', ['b'], ['a']],
    ['left recursion', 'start: e\ne: e "+" N | N\nN: /[0-9]/', ['1', '1+2+3'], ['1+', '+1']],
    ['recursion', 'start: "(" start? ")"', ['()', '((()))'], ['(', '(()']],
    [
      'what is ignored',
      'start: A ("," A)*\nA: "a" "b"\n%ignore " "',
      ['ab', ' ab , ab '],
      ['a b', 'ab ab'],
    ],
    [
      'imports',
      '%import common.INT\n%import common (WORD, WS_INLINE)\n%import common.CNAME -> ID\nstart: INT WORD\n  | ID WS_INLINE ID',
      ['12ab', '_a b1'],
      ['a1', '1'],
    ],
  ])('%s', async (_, definition, good, bad) => {
    const ebnf = lark(definition);
    expect(await accepts(ebnf, good)).toEqual(good.map(() => true));
    expect(await accepts(ebnf, bad)).toEqual(bad.map(() => false));
  });

  test('a patch of Codex', async () => {
    const wrong = [PATCH.replace('*** Begin Patch', '*** Begin'), PATCH.replace('+new', 'new')];
    const inEnvironment = PATCH.replace('Patch\n', 'Patch\n*** Environment ID: local\n');
    const texts = [PATCH, ...wrong, inEnvironment];
    expect(await accepts(lark(APPLY_PATCH), texts)).toEqual([true, false, false, false]);
    const several = await accepts(lark(APPLY_PATCH_IN_ENVIRONMENT), texts);
    expect(several).toEqual([true, false, false, true]);
  });
});

describe('what is refused, with its line', () => {
  const many = LIMITS.grammarDepth + 1;
  const chain = Array.from({ length: many + 1 }, (_, index) => `T${index}: T${index + 1}`);
  test.each<[string, string, string]>([
    ['no start', 'a: "x"', 'line 1: `start` is not defined'],
    ['an unknown name', 'start: "a"\n  | b', 'line 1: `b` is not defined'],
    ['two of a name', 'start: "a"\nstart: "b"', 'line 2: `start` is defined twice'],
    [
      'a rule in a terminal',
      'start: A\n\nA: b\nb: "x"',
      'line 3: a terminal cannot have the rule `b`',
    ],
    ['a terminal in circles', 'start: A\nA: "x" A | "y"', 'line 2: terminals lead in circles'],
    [
      'a long chain of terminals',
      `start: T0\n${chain.join('\n')}\nT${many + 1}: "x"`,
      'more than 64',
    ],
    ['no end', 'start: "a" | b\nb: "x" b', 'line 2: the texts of `b` never end'],
    ['a template', 'start: a{"x"}\na{x}: x', 'line 1: expected the end of the line, found `{`'],
    ['another import', '%import python.NAME\nstart: NAME', 'only terminals of `common`'],
    ['an unknown terminal of common', '%import common.NAME\nstart: NAME', 'no `NAME`'],
    ['another directive', '%declare A\nstart: A', '`%declare` is not supported'],
    ['look-around', 'start: /a(?=b)/', 'look-around and flags are not supported'],
    ['a lazy repetition', 'start: /a.*?b/', 'lazy repetitions are not supported'],
    ['a flag', 'start: /a/x', 'the flag `x` is not supported'],
    ['an escape', 'start: "\\d"', '`\\d` is not supported in a string'],
    ['a range of several', 'start: "aa".."b"', 'a range goes from one character'],
    ['a missing bracket', 'start: ("a"\n', 'line 1: expected `)`'],
    ['half a string', 'start: "a', 'is not understood'],
    ['many levels', `start: ${'('.repeat(many)}"a"${')'.repeat(many)}`, 'nested more than 64'],
    ['many repetitions', 'start: ("a"~20000)~2', 'come to more than 20000'],
    [
      'many rules',
      `start: ${Array.from({ length: 20_001 }, (_, i) => `r${i}`).join(' ')}\n${Array.from({ length: 20_001 }, (_, i) => `r${i}: "${i}"`).join('\n')}`,
      'more than 20000 rules',
    ],
  ])('%s', (_, definition, reason) => {
    expect(() => lark(definition)).toThrow(reason);
  });
});

it('names a tool whose grammar is wrong', () => {
  const { layout } = toolCallFormat('hermes');
  const input = { syntax: 'lark' as const, definition: 'begin: "a"' };
  const tools = [{ function: { name: 'a' } }, { function: { name: 'b' }, input }];
  const form = { kind: 'tools' as const, layout, tools, isRequired: false, parallel: true };
  expect(() => sourceToEbnf({ form })).toThrow('tools/1: Lark grammar, line 1: `start` is not');
});

it('refuses a text that ends an argument where it stands', () => {
  const layout: ToolCallLayout = toolCallFormat('qwen3_coder').layout;
  const input = { syntax: 'lark' as const, definition: 'start: "</parameter>"' };
  const tools = [{ function: { name: 'b' }, input }];
  const form = { kind: 'tools' as const, layout, tools, isRequired: true, parallel: true };
  expect(() => sourceToEbnf({ form })).toThrow('this model ends texts with');
});
