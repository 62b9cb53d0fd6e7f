/** Each format of the table: what its models write, what the writer writes, and how both are read. */
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detectReasoningFormat } from '../../../src/front/chat/reasoning-formats.ts';
import {
  detectToolCallFormat,
  TOOL_CALL_FORMATS,
  type ToolCallFormat,
} from '../../../src/front/tool-calls/formats.ts';
import { ToolCallParser } from '../../../src/front/tool-calls/tool-call-parser.ts';
import { writeCalls } from '../../../src/front/tool-calls/write-calls.ts';

const PARAMETERS = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    days: { type: 'integer' },
    exact: { type: 'boolean' },
    where: { type: 'object' },
    tags: { type: 'array' },
    any: {},
  },
};
const known = new Map<string, unknown>([
  ['get_weather', PARAMETERS],
  ['now', undefined],
]);
const tools = { known, withheld: new Set(['rm']) };

interface Read {
  readonly content: string;
  readonly calls: readonly { readonly name: string; readonly arguments: string }[];
  readonly numWhole: number;
}

/** Puts together what a client that streams does, in order. */
function read(format: ToolCallFormat, pieces: readonly string[], isCut = false): Read {
  const parser = new ToolCallParser(format.layout, tools);
  const calls: { name: string; arguments: string }[] = [];
  let content = '';
  const events = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.flush(isCut)];
  for (const event of events) {
    if (event.type === 'content') content += event.text;
    else if (event.type === 'call') calls.push({ name: event.name, arguments: '' });
    else if (event.type === 'broken') content += event.rest;
    else if (event.type === 'arguments') {
      const call = calls[event.index];
      if (call) call.arguments += event.text;
    }
  }
  return { content, calls, numWhole: parser.numWhole };
}

function parsed({ calls }: Read) {
  return calls.map(({ name, arguments: text }) => ({
    name,
    arguments: JSON.parse(text) as unknown,
  }));
}

function expectSameForEverySplit(format: ToolCallFormat, text: string, isCut: boolean): void {
  const whole = read(format, [text], isCut);
  expect(read(format, text.split(''), isCut)).toEqual(whole);
  for (let at = 1; at < text.length; at++) {
    expect(read(format, [text.slice(0, at), text.slice(at)], isCut)).toEqual(whole);
  }
}

const OSLO = { name: 'get_weather', arguments: { city: 'Oslo', days: 2, exact: true } };
const NOW = { name: 'now', arguments: {} };

/** As the models' own templates write them, or as vLLM's tests have them. */
const SAMPLES: readonly (readonly [name: string, template: string, text: string])[] = [
  [
    'mistral',
    '[CALL_ID]',
    '[TOOL_CALLS]get_weather[CALL_ID]aB3000001[ARGS]{"city": "Oslo", "days": 2, "exact": true}[TOOL_CALLS]now[CALL_ID]000000002[ARGS]{}',
  ],
  [
    'mistral',
    '[CALL_ID]',
    '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo", "days": 2, "exact": true}[TOOL_CALLS]now{}',
  ],
  [
    'deepseek_v32',
    '',
    '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n<｜DSML｜parameter name="exact" string="false">true</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name="now">\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
  ],
  [
    'deepseek_v4',
    '',
    '<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n<｜DSML｜parameter name="exact" string="false">true</｜DSML｜parameter>\n</｜DSML｜invoke>\n<｜DSML｜invoke name="now">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
  ],
  [
    'step3',
    '',
    '<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">\n<steptml:parameter name="city">Oslo</steptml:parameter>\n<steptml:parameter name="days">2</steptml:parameter>\n<steptml:parameter name="exact">true</steptml:parameter>\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="now">\n</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜>',
  ],
  [
    'apertus',
    '',
    '<|tools_prefix|>[{"get_weather": {"city": "Oslo", "days": 2, "exact": true}}, {"now": {}}]<|tools_suffix|>',
  ],
  [
    'minimax',
    '',
    '<tool_calls>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}\n{"name": "now", "arguments": {}}\n</tool_calls>',
  ],
  [
    'mistral',
    '[ARGS]',
    '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo", "days": 2, "exact": true}[TOOL_CALLS]now[ARGS]{}',
  ],
  [
    'mistral',
    '[ARGS]',
    '[TOOL_CALLS]get_weather{"city": "Oslo", "days": 2, "exact": true}[TOOL_CALLS]now{}',
  ],
  [
    'mistral',
    '',
    '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}, {"name": "now", "arguments": {}}]',
  ],
  [
    'kimi_k2',
    '',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo", "days": 2, "exact": true}<|tool_call_end|><|tool_call_begin|>functions.now:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>',
  ],
  [
    'deepseek_v3',
    '',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{"city": "Oslo", "days": 2, "exact": true}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>now\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  [
    'deepseek_v31',
    '',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo", "days": 2, "exact": true}<｜tool▁call▁end｜><｜tool▁call▁begin｜>now<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  ],
  [
    'glm45',
    '',
    '<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n<arg_key>exact</arg_key>\n<arg_value>true</arg_value>\n</tool_call>\n<tool_call>now\n</tool_call>',
  ],
  [
    'minimax_m2',
    '',
    '<minimax:tool_call>\n<invoke name="get_weather">\n<parameter name="city">Oslo</parameter>\n<parameter name="days">2</parameter>\n<parameter name="exact">True</parameter>\n</invoke>\n<invoke name="now">\n</invoke>\n</minimax:tool_call>',
  ],
  [
    'seed_oss',
    '',
    '<seed:tool_call>\n<function=get_weather>\n<parameter=city>Oslo</parameter>\n<parameter=days>2</parameter>\n<parameter=exact>true</parameter>\n</function>\n</seed:tool_call><seed:tool_call>\n<function=now>\n</function>\n</seed:tool_call>',
  ],
  [
    'qwen3_coder',
    '',
    '<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>\n<parameter=exact>\nTrue\n</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=now>\n</function>\n</tool_call>',
  ],
  [
    'functiongemma',
    '',
    '<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:2,exact:true}<end_function_call><start_function_call>call:now{}<end_function_call>',
  ],
  [
    'gemma4',
    '',
    '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:2,exact:true}<tool_call|><|tool_call>call:now{}<tool_call|>',
  ],
  [
    'lfm2',
    '',
    "<|tool_call_start|>[get_weather(city='Oslo', days=2, exact=True), now()]<|tool_call_end|>",
  ],
  [
    'cohere_command3',
    '',
    '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo", "days": 2, "exact": true}},\n    {"tool_call_id": "1", "tool_name": "now", "parameters": {}}\n]<|END_ACTION|>',
  ],
  [
    'olmo3',
    '',
    '<function_calls>get_weather(city="Oslo", days=2, exact=true)\nnow()</function_calls>',
  ],
  [
    'nemotron_json',
    '',
    '<TOOLCALL>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}, {"name": "now", "arguments": {}}]</TOOLCALL>',
  ],
  [
    'hunyuan_a13b',
    '',
    '<tool_calls>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}, {"name": "now"}]</tool_calls>',
  ],
  [
    'internlm',
    '',
    '<|action_start|><|plugin|>{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2, "exact": true}}<|action_end|><|action_start|><|plugin|>{"name": "now", "parameters": {}}<|action_end|>',
  ],
  [
    'longcat',
    '',
    '<longcat_tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}\n</longcat_tool_call>\n<longcat_tool_call>\n{"name": "now", "arguments": {}}\n</longcat_tool_call>',
  ],
  [
    'phi4_mini_json',
    '',
    'functools[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}, {"name": "now", "arguments": {}}]',
  ],
  [
    'granite',
    '',
    '<|tool_call|>[{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}, {"name": "now", "arguments": {}}]',
  ],
  [
    'hermes',
    '',
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo", "days": 2, "exact": true}}\n</tool_call>\n<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call>',
  ],
  ['llama4_pythonic', '', '[get_weather(city="Oslo", days=2, exact=True), now()]'],
  [
    'llama4_pythonic',
    '',
    '<|python_start|>[get_weather(city="Oslo", days=2, exact=True), now()]<|python_end|>',
  ],
  [
    'llama3_json',
    '',
    '{"name": "get_weather", "parameters": {"city": "Oslo", "days": 2, "exact": true}}; {"name": "now", "parameters": {}}',
  ],
];

function named(name: string, template: string): ToolCallFormat {
  const formats = TOOL_CALL_FORMATS.filter(({ names }) => names.includes(name));
  const shown = formats.find(({ shownBy }) => shownBy.includes(template));
  return shown ?? formats.at(-1) ?? fail(name);
}

function fail(name: string): never {
  throw new Error(`no format is called ${name}`);
}

describe.each(SAMPLES)('%s%s', (name, template, text) => {
  const format = named(name, template);
  const expected = [OSLO, NOW];

  it('is read as its models write it, in any pieces', () => {
    const result = read(format, [text]);
    expect(parsed(result)).toEqual(expected);
    expect(result).toMatchObject({ content: '', numWhole: 2 });
    expectSameForEverySplit(format, text, false);
  });

  it('may follow a text, if it is marked', () => {
    const { openIsOptional } = format.layout;
    const result = read(format, [`Let me see: ${text}`]);
    expect(result).toMatchObject(
      openIsOptional
        ? { content: `Let me see: ${text}`, numWhole: 0 }
        : { content: 'Let me see:', numWhole: 2 },
    );
  });

  it('loses nothing where it breaks off', () => {
    for (let end = 0; end < text.length; end++) {
      const part = text.slice(0, end);
      const stopped = read(format, [part]);
      // All of it is content, or a call that has begun.
      expect(stopped.calls.length > 0 || stopped.content === part).toBe(true);
      const cut = read(format, [part], true);
      expect(cut.calls).toEqual(stopped.calls);
      expect(cut.content).toBe(cut.calls.length > 0 ? '' : part);
    }
  });
});

const formats = TOOL_CALL_FORMATS.filter(({ names }) => names[0] !== 'openai');

/** Strings that markers could be mistaken in are left out: no escape is known for them. */
const plainText = fc
  .string({
    unit: fc.constantFrom('a', 'é', '😀', ' ', '"', "'", '\\', '{', '}', '[', ']', ',', '\t'),
  })
  .filter((text) => text === text.trim());
const jsonValues = fc.oneof(
  fc.jsonValue({ maxDepth: 2, stringUnit: fc.constantFrom('a', 'ü', '"', "'", '\\', '\n') }),
);
const writtenCalls = fc.array(
  fc.oneof(
    fc.constant(NOW),
    fc
      .record(
        {
          city: plainText,
          days: fc.integer(),
          exact: fc.boolean(),
          where: fc.dictionary(fc.constantFrom('a', 'b_c'), jsonValues, { maxKeys: 2 }),
          tags: fc.array(jsonValues, { maxLength: 3 }),
          any: fc.oneof(
            plainText,
            fc.boolean(),
            fc.double({ noNaN: true, noDefaultInfinity: true }),
          ),
        },
        { requiredKeys: [] },
      )
      .map((args) => ({ name: 'get_weather', arguments: args })),
  ),
  { minLength: 1, maxLength: 3 },
);

describe.each(formats.map((format) => [format.names.join(' '), format] as const))(
  '%s',
  (_, format) => {
    it('is read as it is written, in any pieces', () => {
      fc.assert(
        fc.property(writtenCalls, fc.nat(), (calls, cut) => {
          const withSchemas = calls.map((call) => ({ ...call, parameters: known.get(call.name) }));
          const text = writeCalls(format.layout, withSchemas);
          const whole = read(format, [text]);
          expect(parsed(whole)).toEqual(JSON.parse(JSON.stringify(calls)));
          expect(whole).toMatchObject({ content: '', numWhole: calls.length });
          const at = cut % (text.length + 1);
          expect(read(format, [text.slice(0, at), text.slice(at)])).toEqual(whole);
          expect(read(format, text.split(''))).toEqual(whole);
        }),
        { numRuns: 15 },
      );
    });

    it('comes out the same however broken texts are cut, and loses nothing', () => {
      const { open, begin, separator, end } = format.layout;
      const whole = writeCalls(format.layout, [OSLO, NOW]);
      const bits = [
        open,
        begin,
        separator,
        end,
        '<',
        '[',
        '{',
        '(',
        '"',
        '}',
        ']',
        ')',
        'x',
        ' ',
        '\n',
      ];
      const middle = fc.tuple(fc.nat(), fc.nat()).map(([a, b]) => {
        const [from, to] = [a % whole.length, b % whole.length].toSorted((x, y) => x - y);
        return whole.slice(from, to);
      });
      const texts = fc
        .array(fc.oneof(middle, fc.constantFrom(...bits)), { maxLength: 6 })
        .map((parts) => parts.join(''));
      fc.assert(
        fc.property(texts, fc.nat(), fc.boolean(), (text, cut, isCut) => {
          const result = read(format, [text], isCut);
          const at = cut % (text.length + 1);
          expect(read(format, [text.slice(0, at), text.slice(at)], isCut)).toEqual(result);
          expect(read(format, text.split(''), isCut)).toEqual(result);
          expect(result.calls.length > 0 || result.content === text).toBe(true);
        }),
        { numRuns: 20 },
      );
    });

    it('has no calls of tools that are withheld, and no end of names or depth', () => {
      const write = (name: string, value: unknown) =>
        writeCalls(format.layout, [{ name, arguments: { tags: value } }]);
      let deep: unknown = [];
      for (let depth = 0; depth < 100; depth++) deep = [deep];
      for (const text of [write('rm', 1), write('x'.repeat(600), 1)]) {
        expect(read(format, [text])).toEqual({ content: text, calls: [], numWhole: 0 });
      }
      const result = read(format, [write('get_weather', deep)]);
      // Where values are held back until they end, one that is too deep is a string.
      const isText = result.numWhole === 1 && result.calls[0]?.arguments.includes(': "[[');
      expect(result.numWhole === 0 || isText).toBe(true);
    });

    it('is told from its template', () => {
      const shown = format.shownBy.join(' ');
      expect(detectToolCallFormat(shown)?.layout).toBe(format.layout);
      const { open } = format.layout;
      expect(open.trim().slice(1)).not.toContain(open[0]);
    });
  },
);

it('Ling and Ring have the calls of Hermes, which they show with a name in angle brackets', () => {
  const shown =
    '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>';
  const template = `<role>SYSTEM</role>${shown}<role>ASSISTANT</role>\n<think>\n`;
  expect(detectToolCallFormat(template)?.names).toContain('hermes');
  expect(detectReasoningFormat(template)?.names).toContain('think');
});

it('no format of thoughts is taken for one of calls', () => {
  expect(detectToolCallFormat('<think></think>')).toBeNull();
  expect(detectReasoningFormat('<tool_call>')).toBeNull();
});

it.each([
  ['Apertus-8B-Instruct', 'apertus', 0],
  ['ByteDance-Seed-OSS', 'seed_oss', 0],
  ['GLM-4.6', 'glm45', 0],
  ['MiniMax-M1', 'minimax', 0],
  ['Mistral-Small-3.2-24B-Instruct-2506', 'mistral', 0],
  ['mistralai-Ministral-3-14B-Reasoning-2512', 'mistral', 1],
  ['mistralai-Mistral-Nemo-Instruct-2407', 'mistral', 2],
  ['Qwen-Qwen3-0.6B', 'hermes', 0],
  ['Qwen3.5-4B', 'qwen3_coder', 0],
  ['StepFun3.5-Flash', 'qwen3_coder', 0],
  ['deepseek-ai-DeepSeek-V3.1', 'deepseek_v31', 0],
  ['deepseek-ai-DeepSeek-V3.2', 'deepseek_v32', 0],
  ['deepseek-ai-DeepSeek-V4', 'deepseek_v4', 0],
  ['google-gemma-4-31B-it', 'gemma4', 0],
  ['openai-gpt-oss-120b', 'openai', 0],
])('the template of %s shows %s', (template, name, index) => {
  const text = readFileSync(`test/fixtures/templates/${template}.jinja`, 'utf8');
  const found = TOOL_CALL_FORMATS.filter(({ names }) => names.includes(name));
  expect(detectToolCallFormat(text)).toBe(found[index]);
});
