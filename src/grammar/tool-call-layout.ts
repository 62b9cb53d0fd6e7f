/**
 * How a model writes its tool calls, as plain data. The parser, the grammar that forces calls and the
 * writer are made of it, so that they agree. Texts are as the model's own template writes them; white
 * space at their borders may differ where calls are read.
 */
export interface ToolCallLayout {
  /** The text before the calls. Its first character is nowhere else in it. */
  readonly open: string;
  /** Whether calls are known without `open` where the text starts with one. */
  readonly openIsOptional: boolean;
  /** The start of a list of calls behind `open`. */
  readonly begin: string;
  /** Whether calls repeat within `open` and `end`, or the whole does. */
  readonly repeats: 'calls' | 'sections' | 'never';
  /** Between what repeats. */
  readonly separator: string;
  /** After the last call. */
  readonly end: string;
  /** May follow the end. */
  readonly tail: string;
  readonly call: CallLayout;
}

export type CallLayout = ObjectCall | NamedCall | ParameterCall;

/** A JSON object with the tool's name and its arguments. */
export interface ObjectCall {
  readonly kind: 'object';
  readonly nameKey: 'name' | 'tool_name';
  readonly argumentsKey: 'arguments' | 'parameters';
  /** The key of a number in quotes that comes before the name. */
  readonly idKey?: 'tool_call_id';
}

/** The tool's name, and its arguments as a JSON object. */
export interface NamedCall {
  readonly kind: 'named';
  readonly open: string;
  /** Before the number of the call, which follows the name; null where none does. */
  readonly number: string | null;
  /** Letters and digits of an id that stands in place of the number. */
  readonly idLength?: number;
  readonly afterName: string;
  readonly close: string;
}

/** The tool's name, and its arguments one by one. */
export interface ParameterCall {
  readonly kind: 'parameters';
  readonly open: string;
  readonly afterName: string;
  /** Around the name of an argument. */
  readonly key: {
    readonly open: string;
    readonly end: string;
    /** Mark after that which says whether the value is a plain string or JSON. */
    readonly type?: { readonly text: string; readonly json: string };
  };
  readonly value: ParameterValue;
  /** Between arguments. */
  readonly separator: string;
  readonly close: string;
}

export type ParameterValue =
  /** Strings as they are and other values as JSON, up to `close`, with `padding` around it. */
  | { readonly kind: 'raw'; readonly padding: '' | '\n'; readonly close: string }
  /** Literals as in Python, or with `quote` around strings, which have no escapes then. */
  | { readonly kind: 'literal'; readonly quote: string | null };

/** How an argument is written where strings are written as they are. */
export type ParameterKind = 'text' | 'json' | 'either';

/** @param parameters JSON Schema of all arguments */
export function parameterKind(parameters: unknown, key: string): ParameterKind {
  const properties = memberOf(parameters, 'properties');
  const schema = memberOf(properties, key);
  const values = memberOf(schema, 'enum');
  const only = memberOf(schema, 'const');
  const type = memberOf(schema, 'type');
  if (type === undefined) {
    const known = Array.isArray(values) ? values : only === undefined ? [] : [only];
    const isText = known.length > 0 && known.every((value) => typeof value === 'string');
    return isText ? 'text' : 'either';
  }
  if (type === 'string') return memberOf(schema, 'nullable') === true ? 'either' : 'text';
  const isText = Array.isArray(type) && type.includes('string');
  return isText ? 'either' : 'json';
}

function memberOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.hasOwn(value, key) ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
}
