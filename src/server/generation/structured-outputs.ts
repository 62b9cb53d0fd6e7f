/** From what a body says about the form of its output to a grammar. */
import type { Caller } from '../../front/caller.ts';
import type { GrammarForm, GrammarSource } from '../../grammar/grammar-source.ts';
import { GrammarError, type GrammarSpec } from '../../grammar/grammar-spec.ts';
import type { ServedText } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import type { StructuredFields } from '../schemas/structured.ts';
import { told } from '../../told.ts';

/**
 * The form that a body asks for, or null.
 * @throws ApiError 400 when it asks for several.
 */
export function grammarOf(body: StructuredFields): GrammarSource | null {
  const [source, second] = [...responseFormatSources(body), ...structuredSources(body)];
  if (source === undefined) return null;
  if (second === undefined) return source;
  const message = `\`${source.field}\` and \`${second.field}\` exclude each other.`;
  throw badRequest(message, second.field, 'invalid_value');
}

/** @throws ApiError 400 when the grammar can't be compiled, with the reason; else as GrammarChecker. */
export async function compiled(
  { grammars }: Pick<ServedText, 'grammars'>,
  source: GrammarSource,
  caller: Caller,
): Promise<GrammarSpec> {
  try {
    return await grammars.check(source, caller);
  } catch (error) {
    if (!(error instanceof GrammarError)) throw error;
    const { field } = source;
    throw badRequest(`\`${field}\`: ${told(error.message, 500)}.`, field, 'invalid_value');
  }
}

const ANY_OBJECT: GrammarForm = { kind: 'json_object' };

function* responseFormatSources({
  response_format: format,
}: StructuredFields): Generator<GrammarSource> {
  if (format?.type === 'json_object') {
    const { schema = null, value = null } = format;
    if (schema === null && value === null) yield { field: 'response_format', form: ANY_OBJECT };
    if (schema !== null) yield { field: 'response_format.schema', form: formOf(schema) };
    if (value !== null) yield { field: 'response_format.value', form: formOf(value) };
  } else if (format?.type === 'json_schema') {
    const { schema } = format.json_schema;
    yield { field: 'response_format.json_schema.schema', form: formOf(schema ?? null) };
  }
}

/** @param schema null for any object */
function formOf(schema: unknown): GrammarForm {
  return schema === null ? ANY_OBJECT : { kind: 'json_schema', schema };
}

function* structuredSources(body: StructuredFields): Generator<GrammarSource> {
  const { structured_outputs: outputs } = body;
  if (outputs?.structural_tag !== undefined && outputs.structural_tag !== null) {
    const field = 'structured_outputs.structural_tag';
    const message = `\`${field}\` is not supported; use \`grammar\`, or \`tools\` for tool calls.`;
    throw badRequest(message, field, 'unsupported_parameter');
  }
  if (outputs?.json_object === true) {
    yield { field: 'structured_outputs.json_object', form: ANY_OBJECT };
  }
  const { json, regex, choice, grammar } = outputs ?? {};
  yield* sourcesOf({ json, regex, choice, grammar }, (name) => `structured_outputs.${name}`);
  const { guided_json, guided_regex, guided_choice, guided_grammar } = body;
  const legacy = {
    json: guided_json,
    regex: guided_regex,
    choice: guided_choice,
    grammar: guided_grammar,
  };
  yield* sourcesOf(legacy, (name) => `guided_${name}`);
}

interface StructuredOutputs {
  readonly json?: unknown;
  readonly regex?: string | null | undefined;
  readonly choice?: readonly string[] | null | undefined;
  readonly grammar?: string | null | undefined;
}

function* sourcesOf(
  { json, regex, choice, grammar }: StructuredOutputs,
  nameOf: (name: string) => string,
): Generator<GrammarSource> {
  if (json !== undefined && json !== null) {
    yield { field: nameOf('json'), form: { kind: 'json_schema', schema: json } };
  }
  if (typeof regex === 'string') {
    yield { field: nameOf('regex'), form: { kind: 'regex', pattern: regex } };
  }
  if (choice) yield { field: nameOf('choice'), form: { kind: 'choice', choices: choice } };
  if (typeof grammar === 'string') {
    yield { field: nameOf('grammar'), form: grammarForm(grammar) };
  }
}

/** As vLLM tells the two notations apart. */
function grammarForm(grammar: string): GrammarForm {
  if (grammar.includes('::=')) return { kind: 'ebnf', ebnf: grammar };
  return { kind: 'lark', definition: grammar };
}
