/** Parts that layouts of calls are put together from. */
import type { ObjectCall, ParameterCall, ToolCallLayout } from '../../grammar/tool-call-layout.ts';

export const OBJECT: ObjectCall = { kind: 'object', nameKey: 'name', argumentsKey: 'arguments' };
export const NAMED = { kind: 'named', open: '', number: null, afterName: '', close: '' } as const;

/** `name(key=literal, ...)` */
export const PYTHON: ParameterCall = {
  kind: 'parameters',
  open: '',
  afterName: '(',
  key: { open: '', end: '=' },
  value: { kind: 'literal', quote: null },
  separator: ', ',
  close: ')',
};

/** Gemma's `call:name{key:literal,...}`, with `quote` around strings. */
export function gemmaCall(quote: string): ParameterCall {
  return {
    ...PYTHON,
    open: 'call:',
    afterName: '{',
    key: { open: '', end: ':' },
    value: { kind: 'literal', quote },
    separator: ',',
    close: '}',
  };
}

/** `<function=name><parameter=key>value</parameter>...</function>` */
export function xmlCall(padding: '' | '\n'): ParameterCall {
  return {
    kind: 'parameters',
    open: '<function=',
    afterName: '>\n',
    key: { open: '<parameter=', end: `>${padding}` },
    value: { kind: 'raw', padding, close: `${padding}</parameter>\n` },
    separator: '',
    close: '</function>',
  };
}

/** DeepSeek's calls, which say of each argument whether it is a string as it is. */
export function dsmlCalls(section: string): ToolCallLayout {
  const call: ParameterCall = {
    kind: 'parameters',
    open: '<｜DSML｜invoke name="',
    afterName: '">\n',
    key: {
      open: '<｜DSML｜parameter name="',
      end: '" string="',
      type: { text: 'true">', json: 'false">' },
    },
    value: { kind: 'raw', padding: '', close: '</｜DSML｜parameter>\n' },
    separator: '',
    close: '</｜DSML｜invoke>',
  };
  return all([`<｜DSML｜${section}>\n`, `\n</｜DSML｜${section}>`], call, '\n');
}

type Markers = readonly [open: string, end: string];

/** Calls that each have markers of their own. */
export function each([open, end]: Markers, call: ToolCallLayout['call']): ToolCallLayout {
  const layout = { openIsOptional: false, begin: '', tail: '', call };
  return { ...layout, open, end, repeats: 'sections', separator: '\n' };
}

/** Calls within one pair of markers. */
export function all(
  [open, end]: Markers,
  call: ToolCallLayout['call'],
  separator: string,
): ToolCallLayout {
  return { ...each([open, end], call), repeats: 'calls', separator };
}

/** A list in JSON, or of Python's calls. */
export function list([open, end]: Markers, call: ToolCallLayout['call']): ToolCallLayout {
  return { ...all([open, `]${end}`], call, ', '), begin: '[' };
}

export const KIMI_CALLS = all(
  ['<|tool_calls_section_begin|>', '<|tool_calls_section_end|>'],
  {
    kind: 'named',
    open: '<|tool_call_begin|>functions.',
    number: ':',
    afterName: '<|tool_call_argument_begin|>',
    close: '<|tool_call_end|>',
  },
  '',
);

export const DEEPSEEK_V3_CALLS = all(
  ['<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>'],
  {
    ...NAMED,
    open: '<｜tool▁call▁begin｜>function<｜tool▁sep｜>',
    afterName: '\n```json\n',
    close: '\n```<｜tool▁call▁end｜>',
  },
  '\n',
);

export const DEEPSEEK_V31_CALLS = all(
  ['<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>'],
  {
    ...NAMED,
    open: '<｜tool▁call▁begin｜>',
    afterName: '<｜tool▁sep｜>',
    close: '<｜tool▁call▁end｜>',
  },
  '',
);

export const STEP3_CALLS = all(
  ['<｜tool_calls_begin｜>', '<｜tool_calls_end｜>'],
  {
    kind: 'parameters',
    open: '<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="',
    afterName: '">',
    key: { open: '<steptml:parameter name="', end: '">' },
    value: { kind: 'raw', padding: '', close: '</steptml:parameter>' },
    separator: '',
    close: '</steptml:invoke><｜tool_call_end｜>',
  },
  '\n',
);

export const GLM_CALLS = each(['<tool_call>', ''], {
  kind: 'parameters',
  open: '',
  afterName: '\n',
  key: { open: '<arg_key>', end: '</arg_key>\n<arg_value>' },
  value: { kind: 'raw', padding: '', close: '</arg_value>\n' },
  separator: '',
  close: '</tool_call>',
});

export const MINIMAX_CALLS = all(
  ['<minimax:tool_call>\n', '\n</minimax:tool_call>'],
  {
    kind: 'parameters',
    open: '<invoke name="',
    afterName: '">\n',
    key: { open: '<parameter name="', end: '">' },
    value: { kind: 'raw', padding: '', close: '</parameter>\n' },
    separator: '',
    close: '</invoke>',
  },
  '\n',
);

export const COHERE_CALLS = list(['<|START_ACTION|>', '<|END_ACTION|>'], {
  kind: 'object',
  idKey: 'tool_call_id',
  nameKey: 'tool_name',
  argumentsKey: 'parameters',
});
