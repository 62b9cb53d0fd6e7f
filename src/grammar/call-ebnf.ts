/** One call of one tool as EBNF, as the model's layout has it. */
import type { CountedArguments } from './counted-arguments.ts';
import { type EbnfRules, literal } from './ebnf.ts';
import { TEXT_ARGUMENT, type TextGrammar, type ToolDefinition } from './grammar-source.ts';
import { GrammarError } from './grammar-spec.ts';
import { jsonText } from './json-strings.ts';
import { larkToEbnf } from './lark-compiler.ts';
import { ParameterEbnf, PLAIN_NAME, textParameter } from './parameter-ebnf.ts';
import { charactersBefore } from './raw-text.ts';
import { regexToEbnf } from './regex-parser.ts';
import type { CharacterRules } from './regex-tree.ts';
import { SchemaCompiler } from './schema-compiler.ts';
import type { SchemaParts } from './schema-parts.ts';
import type { CallLayout, NamedCall } from './tool-call-layout.ts';

const NO_PARAMETERS = { type: 'object', properties: {} };
const NUMBER = '[0-9]{1,3}';

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
    const start = startOf(layout, name);
    if (layout.kind === 'parameters') {
      const ebnf = new ParameterEbnf(this.#rules, this.#parts, layout, this.#counted);
      const { args, counted } = isEnforced ? ebnf.enforced(schema, path) : ebnf.any();
      this.#counted?.addParameters(start, counted);
      return this.#around(name, args, path);
    }
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
    const layout = this.#layout;
    const start = startOf(layout, name);
    if (layout.kind === 'parameters') this.#counted?.addParameters(start, [textParameter(layout)]);
    else this.#counted?.add(start, null);
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
    const start = literal(textParameter(layout).text);
    const close = layout.value.kind === 'raw' ? layout.value.close : layout.value.quote;
    if (close === null) return `${start} ${inJson()}`;
    return `${start} ${text(charactersBefore(close))} ${literal(close)}`;
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
