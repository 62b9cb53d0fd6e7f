/** Grammars of every format of tool calls against its writer and its parser. */
import { afterAll, describe, expect, it } from 'vitest';
import { ChannelParser } from '../../../src/front/chat/channels.ts';
import { TOOL_CALL_FORMATS } from '../../../src/front/tool-calls/formats.ts';
import {
  ToolCallParser,
  type ToolCallEvent,
} from '../../../src/front/tool-calls/tool-call-parser.ts';
import { writeCalls } from '../../../src/front/tool-calls/write-calls.ts';
import { sourceToEbnf } from '../../../src/grammar/source-ebnf.ts';
import type { ToolCallLayout } from '../../../src/grammar/tool-call-layout.ts';
import { spelled } from '../../support/drawn-calls.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { EOS, TOKEN_TEXTS, textOf } from '../../support/grammar-vocabulary.ts';
import { RandomTextEngine } from '../../support/random-text-engine.ts';

const engine = new RandomTextEngine();
afterAll(() => engine.grammars.release());

const closed = {
  type: 'object',
  properties: {
    a: { type: 'integer', minimum: 0, maximum: 99 },
    unit: { enum: ['m', 's'] },
    ok: { type: 'boolean' },
    at: { type: 'array', items: { type: 'boolean' }, maxItems: 2 },
  },
  required: ['a', 'unit'],
  additionalProperties: false,
};
const open = {
  type: 'object',
  properties: { text: { type: 'string' }, at: { type: 'object' } },
  required: ['text'],
};
const add = { name: 'add', strict: true, parameters: closed };
const say = { name: 'say', strict: true, parameters: open };
const known = new Map<string, unknown>([
  ['add', closed],
  ['say', open],
]);

let lastId = 0;

/** Texts that come of such beginnings; null where the grammar does not let them. */
async function goOn(
  layout: ToolCallLayout,
  tools: readonly { readonly name: string }[],
  beginnings: readonly string[],
  { isRequired, numTokens }: { readonly isRequired: boolean; readonly numTokens: number },
): Promise<(string | null)[]> {
  const definitions = tools.map((tool) => ({ function: tool }));
  const form = { kind: 'tools' as const, layout, tools: definitions, isRequired, parallel: true };
  const ebnf = sourceToEbnf({ form });
  const requests = beginnings.map((beginning) => {
    const id = ++lastId;
    const outputTokenIds = Int32Array.from(beginning, (each) => TOKEN_TEXTS.indexOf(each));
    const sampling = { temperature: 1, seed: BigInt(id) };
    const maxTokens = outputTokenIds.length + numTokens;
    const options = { maxTokens, stopTokenIds: [EOS], sampling };
    return engineRequest({ id, grammar: { ebnf, field: 'test' }, outputTokenIds, ...options });
  });
  for (const request of requests) await engine.add(request);
  await engine.runToEnd();
  return requests.map(({ id }, index) => {
    const isRefused = engine.outputs.get(id)?.at(-1)?.finishReason === 'error';
    return isRefused ? null : `${beginnings[index]}${textOf(engine.tokensOf(id))}`;
  });
}

function read(layout: ToolCallLayout, isHarmony: boolean, text: string) {
  const tools = { known, withheld: new Set<string>() };
  const parser = isHarmony
    ? new ChannelParser(tools, '<|start|>assistant')
    : new ToolCallParser(layout, tools);
  const events = [...parser.push(text), ...parser.flush(false)];
  const calls: { name: string; text: string }[] = [];
  let content = '';
  for (const event of events as readonly ToolCallEvent[]) {
    if (event.type === 'call') calls.push({ name: event.name, text: '' });
    else if (event.type === 'content') content += event.text;
    else if (event.type === 'broken') content += event.rest;
    else if (event.type === 'arguments') {
      const call = calls[event.index];
      if (call) call.text += event.text;
    }
  }
  const parsed = calls.map(({ name, text: json }) => ({
    name,
    arguments: JSON.parse(json) as unknown,
  }));
  return { content, calls: parsed, numWhole: parser.numWhole };
}

const CALLS = [
  { name: 'add', arguments: { a: 7, unit: 's', ok: true }, parameters: closed },
  { name: 'say', arguments: { text: 'a < b "c"\n{d}' }, parameters: open },
  { name: 'say', arguments: { text: '', at: { x: [1, 'y'] } }, parameters: open },
];

/** Two entries differ in what shows them alone. */
const formats = new Map(TOOL_CALL_FORMATS.map((format) => [format.layout, format])).values();

describe.each([...formats].map((format) => [format.names.join(' '), format] as const))(
  '%s',
  (name, format) => {
    const layout = spelled(format.layout);
    const isHarmony = name === 'openai';
    const quotes = layout.call.kind === 'parameters' && layout.call.value.kind === 'literal';
    // Objects within arguments of Gemma are written in its own way, and forced as JSON.
    const calls = quotes || isHarmony ? CALLS.slice(0, 2) : CALLS;

    it('lets calls be as they are written', async () => {
      const all = writeCalls(layout, calls);
      const each = calls.map((call) => writeCalls(layout, [call]));
      const texts = isHarmony ? each : [all, ...each];
      const tools = [add, say];
      const options = { numTokens: 4 };
      const required = await goOn(layout, tools, texts, { isRequired: true, ...options });
      expect(required.map((text) => text !== null)).toEqual(texts.map(() => true));
      const before = layout.openIsOptional ? '' : 'So: ';
      const loose = texts.map((text) => before + text);
      const free = await goOn(layout, tools, loose, { isRequired: false, ...options });
      expect(free.map((text) => text !== null)).toEqual(loose.map(() => true));
    });

    it('has what it forces read as calls that keep to their schemas', async () => {
      const beginnings = ['', ''];
      const drawn = await goOn(layout, [add], beginnings, { isRequired: true, numTokens: 1000 });
      for (const text of drawn) {
        const { content, numWhole, calls: found } = read(layout, isHarmony, text ?? '');
        expect({ text, content }).toEqual({ text, content: '' });
        expect(numWhole).toBe(found.length);
        expect(numWhole).toBeGreaterThan(0);
        for (const call of found) {
          expect(call).toEqual({
            name: 'add',
            arguments: expect.objectContaining({
              a: expect.any(Number) as unknown,
              unit: expect.stringMatching(/^[ms]$/) as unknown,
            }) as unknown,
          });
        }
      }
    });

    it('lets no call be that breaks its schema', async () => {
      const wrong = [
        { name: 'rm', arguments: {} },
        { name: 'add', arguments: { b: 1 } },
        { name: 'add', arguments: { a: 'x' } },
      ].map((call) => writeCalls(layout, [call]));
      const options = { isRequired: false, numTokens: 4 };
      expect(await goOn(layout, [add, say], wrong, options)).toEqual(wrong.map(() => null));
    });
  },
);
