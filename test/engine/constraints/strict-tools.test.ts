/** Texts that may call strict tools, by a model that finds every token equally likely. */
import { afterAll, describe, expect, it } from 'vitest';
import { ToolCallParser } from '../../../src/front/tool-calls/tool-call-parser.ts';
import { sourceToEbnf } from '../../../src/grammar/source-ebnf.ts';
import { toolCallFormat } from '../../support/chat-formats.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { EOS, TOKEN_TEXTS, textOf } from '../../support/grammar-vocabulary.ts';
import { RandomTextEngine } from '../../support/random-text-engine.ts';

const engine = new RandomTextEngine();
afterAll(() => engine.grammars.release());

const strict = {
  name: 'add',
  strict: true,
  parameters: {
    type: 'object',
    properties: { a: { type: 'integer' }, unit: { enum: ['m', 's'] } },
    required: ['a', 'unit'],
    additionalProperties: false,
  },
};
const tools = [{ function: strict }, { function: { name: 'look' } }];
const known = new Map<string, unknown>([
  ['add', strict.parameters],
  ['look', undefined],
]);

let lastId = 0;

/** Texts that come of such beginnings; null where the grammar does not let them. */
async function goOn(format: string, beginnings: readonly string[]): Promise<(string | null)[]> {
  const { layout } = toolCallFormat(format);
  const form = { kind: 'tools' as const, layout, tools, isRequired: false, parallel: true };
  const ebnf = sourceToEbnf({ form });
  const ids = beginnings.map(() => ++lastId);
  for (const [index, beginning] of beginnings.entries()) {
    const id = ids[index] ?? 0;
    const outputTokenIds = Int32Array.from(beginning, (each) => TOKEN_TEXTS.indexOf(each));
    const sampling = { temperature: 1, seed: BigInt(id) };
    const grammar = { ebnf, field: 'test' };
    const options = { maxTokens: 1500, stopTokenIds: [EOS], sampling };
    await engine.add(engineRequest({ id, grammar, outputTokenIds, ...options }));
  }
  await engine.runToEnd();
  return ids.map((id, index) => {
    const isRefused = engine.outputs.get(id)?.at(-1)?.finishReason === 'error';
    return isRefused ? null : `${beginnings[index]}${textOf(engine.tokensOf(id))}`;
  });
}

function callsOf(format: string, text: string) {
  const parser = new ToolCallParser(toolCallFormat(format).layout, { known, withheld: new Set() });
  const events = [...parser.push(text), ...parser.flush(false)];
  const args = events.flatMap((event) => (event.type === 'arguments' ? [event.text] : []));
  return { numWhole: parser.numWhole, args: args.join('') };
}

const OPEN = {
  hermes: '<tool_call>',
  mistral: '[TOOL_CALLS] [',
  llama3_json: '<|python_tag|>',
} as const;

describe.each(['hermes', 'mistral', 'llama3_json'] as const)('%s', (format) => {
  const open = toolCallFormat(format).layout.open.trim();
  const argumentsKey = format === 'llama3_json' ? 'parameters' : 'arguments';
  const begin = `${format === 'llama3_json' ? '' : 'I look. '}${OPEN[format]}`;

  it('lets any text be that does not open a call', async () => {
    const first = open[0] ?? '';
    const texts = [
      'Hello. ',
      first,
      `a ${first}${first}${first} b`,
      `${open.slice(0, -1)} `,
      `${open.slice(0, -1)}${first}`,
      `${open.slice(0, 3)}${open.slice(0, -1)}`,
      `${open.slice(0, 4)}\n\n${open.slice(0, 2)}`,
      '    x {"a": 1}',
    ];
    const went = await goOn(format, texts);
    expect(went.map((text, index) => text?.startsWith(texts[index] ?? '') ?? null)).toEqual(
      texts.map(() => true),
    );
  });

  it('ends every call that is opened as its schema says', async () => {
    const call = `{"name": "add", "${argumentsKey}": {"a": `;
    const beginnings = Array.from({ length: 8 }, () => begin + call);
    for (const text of await goOn(format, beginnings)) {
      const { numWhole, args } = callsOf(format, text ?? '');
      expect(numWhole).toBeGreaterThan(0);
      expect(args).toMatch(/^\{"a": -?\d+, "unit": "[ms]"\}/);
    }
  });

  it('has no calls of other tools, or with other arguments', async () => {
    const wrong = [
      `${begin}{"name": "rm"`,
      `${begin}{"name": "add", "${argumentsKey}": {"b"`,
      `${begin}{"name": "add", "${argumentsKey}": {"a": "x"`,
      `${begin}add(1)`,
    ];
    expect(await goOn(format, wrong)).toEqual(wrong.map(() => null));
    // A tool that is not strict may have any object.
    const loose = `${begin}{"name": "look", "${argumentsKey}": {"at": [1, {"x": null}]}}`;
    expect((await goOn(format, [loose]))[0]?.startsWith(loose)).toBe(true);
  });
});

it('a text that begins as a call of Llama is one', async () => {
  const [call, other] = await goOn('llama3_json', ['{"name": "add", "parameters": {', '{"answer"']);
  expect(callsOf('llama3_json', call ?? '').numWhole).toBe(1);
  expect(other).toBeNull();
});
