import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  callId,
  detectToolCallFormat,
  type ToolCallFormat,
} from '../../../src/front/tool-calls/formats.ts';
import {
  ToolCallParser,
  type ToolCallEvent,
} from '../../../src/front/tool-calls/tool-call-parser.ts';
import { toolCallFormat } from '../../support/chat-formats.ts';

const TOOLS = {
  known: new Map([
    ['get_weather', undefined],
    ['add', undefined],
  ]),
  withheld: new Set(['rm']),
};
const hermes = toolCallFormat('hermes');
const llama = toolCallFormat('llama3_json');
const mistral = toolCallFormat('mistral');

/** All that came out, put together; the order of content and calls included. */
function parse(format: ToolCallFormat, pieces: readonly string[], isCut = false) {
  const parser = new ToolCallParser(format.layout, TOOLS);
  const events: ToolCallEvent[] = [];
  for (const piece of pieces) events.push(...parser.push(piece));
  events.push(...parser.flush(isCut));
  return { events: merge(events), numWhole: parser.numWhole };
}

function merge(events: readonly ToolCallEvent[]): ToolCallEvent[] {
  const merged: ToolCallEvent[] = [];
  for (const event of events) {
    const last = merged.at(-1);
    const continues =
      (event.type === 'content' && last?.type === 'content') ||
      (event.type === 'arguments' && last?.type === 'arguments' && last.index === event.index);
    if (continues && 'text' in event && 'text' in last) {
      merged[merged.length - 1] = { ...last, text: last.text + event.text };
    } else merged.push(event);
  }
  return merged;
}

/** The parts of a text as a client would put them together. */
function read(format: ToolCallFormat, text: string, isCut = false) {
  const { events, numWhole } = parse(format, [text], isCut);
  let content = '';
  const calls: { name: string; arguments: string }[] = [];
  for (const event of events) {
    if (event.type === 'content') content += event.text;
    else if (event.type === 'call') calls.push({ name: event.name, arguments: '' });
    else if (event.type === 'arguments') {
      const call = calls[event.index];
      if (call) call.arguments += event.text;
    } else if (event.type === 'broken') content += event.rest;
  }
  return { content, calls, numWhole };
}

const weather = { name: 'get_weather', arguments: '{"city": "Oslo"}' };
const sum = { name: 'add', arguments: '{"a": [1, {"b": "}"}], "c": "\\"]</tool_call>"}' };

describe('tool calls', () => {
  it('are read in the format of Hermes', () => {
    const text =
      'I will look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>\n' +
      `<tool_call>{"arguments": ${sum.arguments}, "name": "add"}</tool_call>\n`;
    const expected = { content: 'I will look.', calls: [weather, sum], numWhole: 2 };
    expect(read(hermes, text)).toEqual(expected);
  });

  it('are read in the format of Llama 3', () => {
    const text = '{"name": "get_weather", "parameters": {"city": "Oslo"}}';
    const one = { content: '', calls: [weather], numWhole: 1 };
    expect(read(llama, text)).toEqual(one);
    expect(read(llama, `<|python_tag|>${text}`)).toEqual(one);
    expect(read(llama, `\n${text}; ${text}`)).toEqual({
      content: '',
      calls: [weather, weather],
      numWhole: 2,
    });
  });

  it('are read in the format of Mistral', () => {
    const text = `Sure. [TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}}, {"name": "add", "arguments": ${sum.arguments}}]`;
    expect(read(mistral, text)).toEqual({ content: 'Sure.', calls: [weather, sum], numWhole: 2 });
  });

  it('may leave out arguments', () => {
    const calls = [{ name: 'add', arguments: '{}' }];
    expect(read(hermes, '<tool_call>{"name": "add"}</tool_call>')).toMatchObject({ calls });
  });

  it('come out as they come: the name first, then pieces of the arguments', () => {
    const parser = new ToolCallParser(hermes.layout, TOOLS);
    expect(parser.push('<tool_call>\n{"name": "add", ')).toEqual([]);
    expect(parser.push('"arguments": {"a"')).toEqual([
      { type: 'call', index: 0, name: 'add' },
      { type: 'arguments', index: 0, text: '{"a"' },
    ]);
    expect(parser.push(': 1')).toEqual([{ type: 'arguments', index: 0, text: ': 1' }]);
    expect(parser.push('}}')).toEqual([{ type: 'arguments', index: 0, text: '}' }]);
    expect(parser.push('\n</tool_call>')).toEqual([]);
    expect(parser.flush(false)).toEqual([]);
  });

  it.each([
    ['a tool that is withheld', hermes, '<tool_call>{"name": "rm", "arguments": {}}</tool_call>'],
    ['no JSON', hermes, '<tool_call>get_weather(Oslo)</tool_call>'],
    ['a fault before the arguments', hermes, 'So: <tool_call>{"name": "add", arguments: {}}'],
    ['an end before the arguments', hermes, 'So: <tool_call>{"name": "ad'],
    [
      'arguments that are no object',
      hermes,
      '<tool_call>{"name": "add", "arguments": "x"}</tool_call>',
    ],
    ['an opener cut short', hermes, 'a < b <tool_cal'],
    ['an answer that is JSON', llama, ' {"name": "Anna", "age": 3}'],
    ['JSON that is not at the start', llama, 'See {"name": "add", "parameters": {}}'],
    ['a list of something else', mistral, '[TOOL_CALLS] [1, 2]'],
  ])('come out as content when they are %s', (_, format, text) => {
    expect(read(format, text)).toEqual({ content: text, calls: [], numWhole: 0 });
  });

  it('may be of a tool that there is not, in the markup of calls alone', () => {
    const object = '{"name": "fly", "arguments": {"to": "Oslo"}}';
    const calls = [{ name: 'fly', arguments: '{"to": "Oslo"}' }];
    expect(read(hermes, `<tool_call>${object}</tool_call>`)).toMatchObject({ content: '', calls });
    expect(read(llama, `<|python_tag|>${object}`)).toMatchObject({ content: '', calls });
    expect(read(llama, object)).toEqual({ content: object, calls: [], numWhole: 0 });
  });

  it('that the limit of tokens cuts have the arguments that came, and leave no markup', () => {
    const one = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
    const whole = { name: 'add', arguments: '{"a": 1}' };
    const second = '\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Os';
    for (let end = 0; end <= second.length; end++) {
      const { content, calls } = read(hermes, one + second.slice(0, end), true);
      expect({ end, content }).toEqual({ end, content: '' });
      expect(calls[0]).toEqual(whole);
      const begun = second.slice(0, end).split('"arguments": ')[1] ?? '';
      expect(calls.length).toBe(begun === '' ? 1 : 2);
      expect(calls[1]?.arguments ?? '').toBe(begun);
    }
    for (let end = one.indexOf('}}') + 2; end <= one.length; end++) {
      expect(read(hermes, one.slice(0, end), true)).toMatchObject({ content: '', calls: [whole] });
    }
    // Nothing that could be told otherwise.
    expect(read(hermes, 'So: <tool_call>{"na', true).content).toBe('So: <tool_call>{"na');
    const list = '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}, {"na';
    expect(read(mistral, list, true)).toMatchObject({ content: '', calls: [whole] });
  });

  it('lose nothing when they break after the arguments have begun', () => {
    const start = '<tool_call>{"name": "add", "arguments": {"a": 1';
    const cut = parse(hermes, [start]);
    expect(cut.numWhole).toBe(0);
    expect(cut.events.at(-1)).toEqual({ type: 'broken', index: 0, whole: start, rest: '' });
    const wrong = parse(hermes, [`${start} oops</tool_call> more`]);
    expect(wrong.events.slice(2)).toEqual([
      { type: 'broken', index: 0, whole: `${start} `, rest: '' },
      { type: 'content', text: 'oops</tool_call> more' },
    ]);
  });

  const openers = ['<tool_call>', '</tool_call>', '[TOOL_CALLS]', '<|python_tag|>'];
  const calls = ['{"name": "add"', '{"name"', ', "arguments": ', ', "parameters": ', '{"a": 1'];
  const bits = [
    '{}',
    '"x\\u00e9"',
    ']}',
    '}',
    '[',
    ']',
    ', ',
    '; ',
    ' ',
    '\n',
    'text',
    '<',
    '{',
    'é😀',
  ];
  const fragments = fc.constantFrom(...openers, ...calls, ...bits);
  const texts = fc.array(fragments, { maxLength: 14 }).map((parts) => parts.join(''));

  it('come out the same however the text is cut', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(hermes, llama, mistral),
        texts,
        fc.array(fc.nat(), { maxLength: 20 }),
        fc.boolean(),
        (format, text, cuts, isCut) => {
          const at = [...new Set([0, text.length, ...cuts.map((cut) => cut % (text.length + 1))])];
          at.sort((a, b) => a - b);
          const pieces = at.slice(1).map((end, index) => text.slice(at[index], end));
          const whole = parse(format, [text], isCut);
          expect(parse(format, pieces, isCut)).toEqual(whole);
          expect(parse(format, Array.from(text), isCut)).toEqual(whole);
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('leave a text without calls as it is', () => {
    const plain = texts.filter((text) => !text.includes('"name"'));
    fc.assert(
      fc.property(fc.constantFrom(hermes, llama, mistral), plain, (format, text) => {
        expect(read(format, text)).toEqual({ content: text, calls: [], numWhole: 0 });
      }),
    );
  });
});

describe('formats', () => {
  it('are told from the chat template', () => {
    expect(detectToolCallFormat('{{ "<tool_call>" }}')).toBe(hermes);
    expect(detectToolCallFormat('{{ "[TOOL_CALLS]" }}')).toBe(mistral);
    expect(detectToolCallFormat('{% if tools %}{"name": x, "parameters": y}')).toBe(llama);
    expect(detectToolCallFormat('{{ messages }}')).toBeNull();
  });

  it('have ids that their templates take, of their own and the same each time', () => {
    expect(callId(hermes, 'a 0', 0, 'add')).toMatch(/^call_[\da-f]{24}$/);
    expect(callId(mistral, 'a 0', 0, 'add')).toMatch(/^[\da-zA-Z]{9}$/);
    expect(callId(toolCallFormat('kimi_k2'), 'a 0', 1, 'add')).toBe('functions.add:1');
    expect(callId(hermes, 'a 0', 0, 'add')).toBe(callId(hermes, 'a 0', 0, 'add'));
    expect(callId(hermes, 'a 0', 1, 'add')).not.toBe(callId(hermes, 'a 0', 0, 'add'));
  });
});
