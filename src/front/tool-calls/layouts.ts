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
