/** Arguments of a call that stand one by one, as EBNF. */
import type { CountedArguments } from './counted-arguments.ts';
import { type CountedParameter, NOTHING_COUNTED } from './counted-text.ts';
import { anyOf, type EbnfRules, literal } from './ebnf.ts';
import { TEXT_ARGUMENT } from './grammar-source.ts';
import { GrammarError } from './grammar-spec.ts';
import { isSchema, listOf, type Schema } from './json-schema.ts';
import { anyText, NO_BOUNDS, type RawText, rawText } from './raw-text.ts';
import { SchemaCompiler } from './schema-compiler.ts';
import type { SchemaParts } from './schema-parts.ts';
import { told } from '../told.ts';
import { type ParameterCall, parameterKind } from './tool-call-layout.ts';

/** The name of an argument that no schema names. */
const KEY = '[A-Za-z_] [A-Za-z0-9_]{0,63}';
/** Names that can stand without quotes in every layout. */
export const PLAIN_NAME = /^[\w.-]{1,256}$/;

export interface Parameters {
  /** An expression for all of them. */
  readonly args: string;
  /** Bounds that may be counted beside it. */
  readonly counted: readonly CountedParameter[];
}

export class ParameterEbnf {
  readonly #rules: EbnfRules;
  readonly #parts: SchemaParts;
  readonly #layout: ParameterCall;
  /** Null where the grammar keeps all bounds. */
  readonly #counted: CountedArguments | null;

  constructor(
    rules: EbnfRules,
    parts: SchemaParts,
    layout: ParameterCall,
    counted: CountedArguments | null,
  ) {
    this.#rules = rules;
    this.#parts = parts;
    this.#layout = layout;
    this.#counted = counted;
  }

  /**
   * The declared arguments in the schema's order.
   * @param path for errors
   * @throws GrammarError when the schema can't be enforced
   */
  enforced(schema: unknown, path: string): Parameters {
    const properties = isSchema(schema) ? schema['properties'] : undefined;
    if (!isSchema(schema) || !isSchema(properties)) {
      if (isSchema(schema) && isOpen(schema)) return this.any();
      throw new GrammarError(`${path}: this model's calls need parameters with \`properties\``);
    }
    const required = new Set(listOf(schema, 'required', path));
    const places = this.#counted?.parameters(schema, path) ?? null;
    const compiler = new SchemaCompiler(this.#rules, this.#parts, schema, places?.shapes);
    const names = Object.keys(properties);
    const wrong = [...required, ...names].find(
      (key) => typeof key !== 'string' || !Object.hasOwn(properties, key) || !PLAIN_NAME.test(key),
    );
    if (wrong !== undefined) {
      throw new GrammarError(
        `${path}: ${told(JSON.stringify(wrong), 100)} cannot be an argument of this model's calls`,
      );
    }
    const counted: CountedParameter[] = [];
    const pairs = names.map((key) => {
      const where = `${path}/properties/${key}`;
      const { text, ebnf, raw } = this.#value(schema, properties[key], key, where, compiler);
      const start = this.#layout.key.open + key + this.#layout.key.end + text;
      const place = places?.placeOf(key) ?? NOTHING_COUNTED;
      counted.push(
        raw === null
          ? { text: start, place }
          : { text: start, place: NOTHING_COUNTED, bounds: raw.bounds, isAny: raw.isAny },
      );
      return { pair: this.#rules.add(`${literal(start)} ${ebnf}`), isRequired: required.has(key) };
    });
    compiler.compileReferences(path);
    return { args: this.#sequence(pairs), counted };
  }

  /** Any arguments. */
  any(): Parameters {
    const { key, separator } = this.#layout;
    const { open, end } = key;
    const pair = this.#rules.add(
      `${literalOrNone(open)} ${KEY} ${literal(end)} ${this.#anyValue()}`,
    );
    const args = `(${pair} (${literalOrNone(separator)} ${pair})*)?`;
    return { args, counted: anyParameters(this.#layout) };
  }

  /** Some of the pairs, in order; all required ones. */
  #sequence(pairs: readonly { readonly pair: string; readonly isRequired: boolean }[]): string {
    const { separator } = this.#layout;
    const between = separator === '' ? '' : `${literal(separator)} `;
    // From the last to the first: what may follow where a pair is there already, and where none is.
    let after = '""';
    let first = '""';
    for (const { pair, isRequired } of pairs.toReversed()) {
      const begun = `${pair} ${after}`;
      first = this.#rules.add(isRequired ? begun : anyOf([begun, first]));
      after = this.#rules.add(
        isRequired ? `${between}${begun}` : anyOf([`${between}${begun}`, after]),
      );
    }
    return first;
  }

  #anyValue(): string {
    const { key, value } = this.#layout;
    if (value.kind !== 'raw') return 'value';
    const text = anyText(value.close);
    if (key.type === undefined) return text;
    const { text: isText, json: isJson } = key.type;
    return `(${literal(isText)} ${text} | ${literal(isJson)} value ${literal(value.close)})`;
  }

  /** An argument's value, and what stands before it after its name; `raw` is null for JSON. */
  #value(
    schema: Schema,
    part: unknown,
    key: string,
    path: string,
    compiler: SchemaCompiler,
  ): { text: string; ebnf: string; raw: RawText | null } {
    const { type } = this.#layout.key;
    const { value } = this.#layout;
    const isText = parameterKind(schema, key) === 'text' && isSchema(part);
    const quote = value.kind === 'raw' ? '' : value.quote;
    if (isText && quote !== null) {
      const close = value.kind === 'raw' ? value.close : quote;
      const raw = rawText(part, path, close, this.#counted !== null);
      return { text: (type?.text ?? '') + quote, ebnf: raw.ebnf, raw };
    }
    const isWord = value.kind === 'literal' && quote === null && isBoolean(part);
    const json = isWord ? '("True" | "False")' : compiler.compilePart(part, path);
    const close = value.kind === 'raw' ? ` ${literal(value.close)}` : '';
    return { text: type?.json ?? '', ebnf: `${json}${close}`, raw: null };
  }
}

/** Arguments of any name, as they are looked for beside the grammar. */
export function anyParameters({ key: { end, type }, value }: ParameterCall): CountedParameter[] {
  const json = (text: string) => ({ text, place: NOTHING_COUNTED });
  const text = (start: string) => ({ ...json(start), bounds: NO_BOUNDS });
  if (value.kind !== 'raw') return [json(end)];
  return type === undefined ? [text(end)] : [text(end + type.text), json(end + type.json)];
}

/** The one argument of a tool that takes a text. */
export function textParameter({ key, value }: ParameterCall): CountedParameter {
  const text = key.open + TEXT_ARGUMENT + key.end + (key.type?.text ?? '');
  if (value.kind === 'raw') return { text, place: NOTHING_COUNTED, bounds: NO_BOUNDS };
  if (value.quote === null) return { text, place: NOTHING_COUNTED };
  return { text: text + value.quote, place: NOTHING_COUNTED, bounds: NO_BOUNDS };
}

/** Any arguments will do. */
function isOpen(schema: Schema): boolean {
  return ['$ref', 'allOf', 'anyOf', 'oneOf', 'required'].every((key) => schema[key] === undefined);
}

function isBoolean(part: unknown): boolean {
  return (
    isSchema(part) &&
    part['type'] === 'boolean' &&
    part['const'] === undefined &&
    part['enum'] === undefined
  );
}

function literalOrNone(text: string): string {
  return text === '' ? '' : literal(text);
}
