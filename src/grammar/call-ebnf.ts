/** One call of one tool as EBNF, as the model's layout has it. */
import { characterClass } from './character-class.ts';
import type { CountedArguments } from './counted-arguments.ts';
import { anyOf, type EbnfRules, literal, repeat } from './ebnf.ts';
import { TEXT_ARGUMENT, type TextGrammar, type ToolDefinition } from './grammar-source.ts';
import { GrammarError } from './grammar-spec.ts';
import { countOf, isSchema, listOf, type Schema } from './json-schema.ts';
import { jsonText, patternEbnf } from './json-strings.ts';
import { larkToEbnf } from './lark-compiler.ts';
import { MarkerEbnf } from './marker-ebnf.ts';
import { regexToEbnf } from './regex-parser.ts';
import { type CharacterRules, PLAIN_CHARACTERS } from './regex-tree.ts';
import { SchemaCompiler } from './schema-compiler.ts';
import type { SchemaParts } from './schema-parts.ts';
import { told } from '../told.ts';
import {
  type CallLayout,
  type NamedCall,
  type ParameterCall,
  parameterKind,
  type ParameterValue,
} from './tool-call-layout.ts';

const NO_PARAMETERS = { type: 'object', properties: {} };
const NUMBER = '[0-9]{1,3}';
/** The name of an argument that no schema names. */
const KEY = '[A-Za-z_] [A-Za-z0-9_]{0,63}';
/** A character that begins no marker. */
const NO_MARKUP = '[^<]';
/** Names that can stand without quotes in every layout. */
const PLAIN_NAME = /^[\w.-]{1,256}$/;

export class CallEbnf {
  readonly #rules: EbnfRules;
  /** One budget for all tools; each one's references lead into its own parameters. */
  readonly #parts: SchemaParts;
  readonly #layout: CallLayout;
  /** For what is counted beside the grammar; null where the grammar keeps all bounds. */
  readonly #counted: CountedArguments | null;

  constructor(
    rules: EbnfRules,
    parts: SchemaParts,
    layout: CallLayout,
    counted: CountedArguments | null,
  ) {
    this.#rules = rules;
    this.#parts = parts;
    this.#layout = layout;
    this.#counted = counted;
  }

  /**
   * @param path of the parameters, for errors
   * @param isEnforced whether the arguments must be as the schema says
   * @throws GrammarError when the parameters can't be enforced
   */
  call(tool: ToolDefinition['function'], path: string, isEnforced: boolean): string {
    const layout = this.#layout;
    const { name, parameters } = tool;
    const schema = parameters ?? NO_PARAMETERS;
    if (layout.kind === 'parameters') {
      const args = isEnforced ? this.#enforced(layout, schema, path) : this.#anyArguments(layout);
      return this.#around(name, args, path);
    }
    const start = startOf(layout, name);
    if (!isEnforced) {
      this.#counted?.add(start, null);
      return this.#around(name, 'object', path);
    }
    const shapes = this.#counted?.add(start, { schema, path }) ?? null;
    const compiler = new SchemaCompiler(this.#rules, this.#parts, schema, shapes);
    return this.#around(name, compiler.compileRoot(path), path);
  }

  /**
   * A call of a tool whose one argument is a text of its own grammar.
   * @throws GrammarError when the grammar can't be enforced
   */
  textCall(name: string, grammar: TextGrammar, path: string): string {
    if (this.#layout.kind !== 'parameters') this.#counted?.add(startOf(this.#layout, name), null);
    try {
      return this.#around(name, this.#textArgument(grammar), path);
    } catch (error) {
      if (!(error instanceof GrammarError)) throw error;
      throw new GrammarError(`${path}: ${error.message}`, { cause: error });
    }
  }

  #textArgument({ syntax, definition }: TextGrammar): string {
    const layout = this.#layout;
    const text = (characters: CharacterRules): string =>
      syntax === 'lark'
        ? larkToEbnf(definition, this.#rules, characters)
        : `(${regexToEbnf(definition, characters)})`;
    const inJson = (): string => `"\\u0022" ${text(jsonText(this.#rules))} "\\u0022"`;
    if (layout.kind !== 'parameters') {
      return `${literal(`{"${TEXT_ARGUMENT}": `)} ${inJson()} "}"`;
    }
    const { key, value } = layout;
    const start = literal(key.open + TEXT_ARGUMENT + key.end + (key.type?.text ?? ''));
    if (value.kind === 'raw') {
      return `${start} ${text(charactersBefore(value.close))} ${literal(value.close)}`;
    }
    const { quote } = value;
    if (quote === null) return `${start} ${inJson()}`;
    return `${start} ${literal(quote)} ${text(charactersBefore(quote))} ${literal(quote)}`;
  }

  /** A call with these arguments. */
  #around(name: string, args: string, path: string): string {
    const layout = this.#layout;
    const start = literal(startOf(layout, name));
    if (layout.kind === 'object') {
      const { idKey } = layout;
      const id =
        idKey === undefined ? '' : `${literal(`"${idKey}": "`)} ${NUMBER} ${literal('", ')} `;
      return `"{" ${id}${start} ${args} "}"`;
    }
    if (!PLAIN_NAME.test(name)) {
      throw new GrammarError(`${path}: this model cannot call a tool of such a name`);
    }
    const after = hasNumber(layout) ? ` ${numberOf(layout)} ${literal(layout.afterName)}` : '';
    return `${start}${after} ${args}${layout.close === '' ? '' : ` ${literal(layout.close)}`}`;
  }

  /** The declared arguments in the schema's order. */
  #enforced(layout: ParameterCall, schema: unknown, path: string): string {
    const properties = isSchema(schema) ? schema['properties'] : undefined;
    if (!isSchema(schema) || !isSchema(properties)) {
      if (isSchema(schema) && isOpen(schema)) return this.#anyArguments(layout);
      throw new GrammarError(`${path}: this model's calls need parameters with \`properties\``);
    }
    const required = new Set(listOf(schema, 'required', path));
    const compiler = new SchemaCompiler(this.#rules, this.#parts, schema);
    const names = Object.keys(properties);
    const wrong = [...required, ...names].find(
      (key) => typeof key !== 'string' || !Object.hasOwn(properties, key) || !PLAIN_NAME.test(key),
    );
    if (wrong !== undefined) {
      throw new GrammarError(
        `${path}: ${told(JSON.stringify(wrong), 100)} cannot be an argument of this model's calls`,
      );
    }
    const pairs = names.map((key) => {
      const where = `${path}/properties/${key}`;
      const value = this.#value(layout, schema, properties[key], key, where, compiler);
      const { open, end } = layout.key;
      const pair = this.#rules.add(`${literal(open + key + end)} ${value}`);
      return { pair, isRequired: required.has(key) };
    });
    compiler.compileReferences(path);
    return this.#sequence(layout.separator, pairs);
  }

  /** Some of the pairs, in order; all required ones. */
  #sequence(
    separator: string,
    pairs: readonly { readonly pair: string; readonly isRequired: boolean }[],
  ): string {
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

  #anyArguments({ key, value, separator }: ParameterCall): string {
    const any = this.#anyValue(key.type, value);
    const pair = this.#rules.add(`${literalOrNone(key.open)} ${KEY} ${literal(key.end)} ${any}`);
    return `(${pair} (${literalOrNone(separator)} ${pair})*)?`;
  }

  #anyValue(type: ParameterCall['key']['type'], value: ParameterValue): string {
    if (value.kind !== 'raw') return 'value';
    const text = rawText(value.close);
    if (type === undefined) return text;
    return `(${literal(type.text)} ${text} | ${literal(type.json)} value ${literal(value.close)})`;
  }

  #value(
    { key: { type }, value: layout }: ParameterCall,
    schema: Schema,
    part: unknown,
    key: string,
    path: string,
    compiler: SchemaCompiler,
  ): string {
    const isText = parameterKind(schema, key) === 'text' && isSchema(part);
    if (layout.kind === 'literal') {
      const { quote } = layout;
      if (quote === null && isBoolean(part)) return '("True" | "False")';
      if (!isText || quote === null) return compiler.compilePart(part, path);
      return `${literal(quote)} ${textValue(part, path, quote)}`;
    }
    if (isText) return `${literalOrNone(type?.text ?? '')} ${textValue(part, path, layout.close)}`;
    const json = `${compiler.compilePart(part, path)} ${literal(layout.close)}`;
    return `${literalOrNone(type?.json ?? '')} ${json}`;
  }
}

/** The beginning of a call: up to its arguments, or to its number. */
function startOf(layout: CallLayout, name: string): string {
  if (layout.kind === 'object') {
    return `"${layout.nameKey}": ${JSON.stringify(name)}, "${layout.argumentsKey}": `;
  }
  return layout.open + name + (hasNumber(layout) ? layout.number : layout.afterName);
}

function hasNumber(layout: CallLayout): layout is NamedCall & { readonly number: string } {
  return layout.kind === 'named' && layout.number !== null;
}

function numberOf({ idLength }: NamedCall): string {
  return idLength === undefined ? NUMBER : `[A-Za-z0-9]{${idLength}}`;
}

/** Any arguments will do. */
function isOpen(schema: Schema): boolean {
  return ['$ref', 'allOf', 'anyOf', 'oneOf', 'required'].every((key) => schema[key] === undefined);
}

function isBoolean(part: unknown): boolean {
  return isSchema(part) && part['type'] === 'boolean' && isPlainText(part);
}

const TEXT_WISHES = ['const', 'enum', 'pattern', 'format', 'minLength', 'maxLength'];

function isPlainText(schema: Schema): boolean {
  return TEXT_WISHES.every((keyword) => schema[keyword] === undefined);
}

/** A string as it is, without quotes, and what closes it. */
function textValue(schema: Schema, path: string, close: string): string {
  return isPlainText(schema) ? rawText(close) : `${wishedText(schema, path)} ${literal(close)}`;
}

function wishedText(schema: Schema, path: string): string {
  const only = schema['const'];
  const values = listOf(schema, 'enum', path) ?? (only === undefined ? null : [only]);
  if (values !== null) return anyOf(values.map((value) => literal(String(value))));
  const { pattern } = schema;
  const minLength = countOf(schema, 'minLength', path);
  const maxLength = countOf(schema, 'maxLength', path);
  if (typeof pattern !== 'string') return repeat(NO_MARKUP, minLength ?? 0, maxLength ?? null);
  return `(${patternEbnf(pattern, { minLength, maxLength }, PLAIN_CHARACTERS)})`;
}

/** Those of a text that ends with the marker, which is no part of it. */
function charactersBefore(marker: string): CharacterRules {
  const end = marker.trim();
  return {
    text: (text) => {
      if (!text.includes(end)) return literal(text);
      throw new GrammarError(`this model ends texts with ${told(JSON.stringify(end), 40)}`);
    },
    class: characterClass,
  };
}

/** Any text up to the marker, with it. */
function rawText(close: string): string {
  return `${new MarkerEbnf(close.trim()).textWithout()} ${literal(close)}`;
}

function literalOrNone(text: string): string {
  return text === '' ? '' : literal(text);
}
