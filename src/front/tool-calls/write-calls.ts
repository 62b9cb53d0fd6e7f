/** Writes calls as a model would have: what the parser reads and the grammar permits. */
import {
  type ParameterCall,
  parameterKind,
  type ToolCallLayout,
} from '../../grammar/tool-call-layout.ts';
import { dumps } from '../../grammar/dumps.ts';

export interface WrittenCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** JSON Schema of the arguments, if it is known. */
  readonly parameters?: unknown;
}

export function writeCalls(layout: ToolCallLayout, calls: readonly WrittenCall[]): string {
  const { begin, separator, end } = layout;
  const open = layout.openIsOptional ? '' : layout.open;
  const written = calls.map((call, index) => writeCall(layout, call, index));
  const around = (text: string) => `${open}${begin}${text}${end}`;
  return layout.repeats === 'calls'
    ? around(written.join(separator))
    : written.map(around).join(separator);
}

function writeCall({ call }: ToolCallLayout, written: WrittenCall, index: number): string {
  const { name, arguments: args } = written;
  switch (call.kind) {
    case 'object': {
      const id = call.idKey === undefined ? {} : { [call.idKey]: String(index) };
      return dumps({ ...id, [call.nameKey]: name, [call.argumentsKey]: args });
    }
    case 'named': {
      const id = String(index).padStart(call.idLength ?? 0, '0');
      const number = call.number === null ? '' : call.number + id;
      return `${call.open}${name}${number}${call.afterName}${dumps(args)}${call.close}`;
    }
    case 'parameters': {
      const pairs = Object.entries(args).map(
        ([key, value]) =>
          call.key.open + key + call.key.end + writeValue(call, written, key, value),
      );
      return `${call.open}${name}${call.afterName}${pairs.join(call.separator)}${call.close}`;
    }
  }
}

function writeValue(
  { key: { type }, value: layout }: ParameterCall,
  { parameters }: WrittenCall,
  key: string,
  value: unknown,
): string {
  if (layout.kind === 'literal') return writeLiteral(value, layout.quote);
  if (type !== undefined) {
    const isText = typeof value === 'string';
    return (isText ? type.text + value : type.json + dumps(value)) + layout.close;
  }
  const isRaw =
    typeof value === 'string' && (parameterKind(parameters, key) === 'text' || !isJson(value));
  return (isRaw ? value : dumps(value)) + layout.close;
}

/** Whether a string without quotes would be taken for something else. */
function isJson(text: string): boolean {
  try {
    JSON.parse(text.trim());
    return true;
  } catch {
    return false;
  }
}

/** Can stand without quotes. */
const BARE_KEY = /^\w+$/;

function writeLiteral(value: unknown, quote: string | null): string {
  const inner = (each: unknown) => writeLiteral(each, quote);
  if (Array.isArray(value)) return `[${value.map(inner).join(quote === null ? ', ' : ',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) =>
      quote === null
        ? `${dumps(key)}: ${inner(member)}`
        : `${BARE_KEY.test(key) ? key : dumps(key)}:${inner(member)}`,
    );
    return `{${members.join(quote === null ? ', ' : ',')}}`;
  }
  if (quote !== null) {
    const isRaw = typeof value === 'string' && !value.includes(quote);
    return isRaw ? quote + value + quote : dumps(value);
  }
  if (value === true) return 'True';
  if (value === false) return 'False';
  return value === null ? 'None' : dumps(value);
}
