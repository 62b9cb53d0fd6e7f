/** From what a body says about the form of its output to a grammar. */
import type { Caller } from '../front/caller.ts';
import { choiceEbnf } from '../grammar/ebnf.ts';
import { GrammarError, type GrammarSpec } from '../grammar/grammar-spec.ts';
import { PLAIN_CHARACTERS, regexToEbnf } from '../grammar/regex-parser.ts';
import { schemaToEbnf } from '../grammar/schema-compiler.ts';
import type { ServerContext } from './context.ts';
import { badRequest, type ApiError } from './errors.ts';
import type { StructuredFields } from './schemas/structured.ts';

/** A way to say what the output looks like, and where the body said it. */
interface Source {
  readonly field: string;
  toEbnf(): string;
}

/**
 * The grammar that a body asks for, or null.
 * @throws ApiError 400 when it asks for several, or when one can't be enforced, with the reason.
 */
export function grammarOf(body: StructuredFields): GrammarSpec | null {
  const sources = [...responseFormatSources(body), ...structuredSources(body)];
  const [source, second] = sources;
  if (source === undefined) return null;
  if (second !== undefined) {
    const message = `\`${source.field}\` and \`${second.field}\` exclude each other.`;
    throw badRequest(message, second.field, 'invalid_value');
  }
  return toGrammar(source.field, () => source.toEbnf());
}

/** @throws ApiError 400 with the reason when `toEbnf` throws a GrammarError. */
export function toGrammar(field: string, toEbnf: () => string): GrammarSpec {
  try {
    return { ebnf: toEbnf(), field };
  } catch (error) {
    throw error instanceof GrammarError ? toBadRequest(field, error) : error;
  }
}

/** @throws ApiError 400 when the grammar can't be compiled, with the reason. */
export async function requireCompiled(
  { grammars }: Pick<ServerContext, 'grammars'>,
  grammar: GrammarSpec | undefined,
  caller: Caller,
): Promise<void> {
  if (grammar === undefined) return;
  try {
    await grammars.check(grammar, caller);
  } catch (error) {
    throw error instanceof GrammarError ? toBadRequest(grammar.field, error) : error;
  }
}

function toBadRequest(field: string, { message }: GrammarError): ApiError {
  return badRequest(`\`${field}\`: ${message.slice(0, 500)}.`, field, 'invalid_value');
}

function* responseFormatSources({ response_format: format }: StructuredFields): Generator<Source> {
  if (format?.type === 'json_object') {
    yield { field: 'response_format', toEbnf: anyObject };
  } else if (format?.type === 'json_schema') {
    const { schema } = format.json_schema;
    const toEbnf = () =>
      schema === undefined || schema === null ? anyObject() : schemaToEbnf(schema);
    yield { field: 'response_format.json_schema.schema', toEbnf };
  }
}

function* structuredSources(body: StructuredFields): Generator<Source> {
  const { structured_outputs: outputs } = body;
  if (outputs?.structural_tag !== undefined && outputs.structural_tag !== null) {
    const field = 'structured_outputs.structural_tag';
    const message = `\`${field}\` is not supported; use \`grammar\`, or \`tools\` for tool calls.`;
    throw badRequest(message, field, 'unsupported_parameter');
  }
  if (outputs?.json_object === true) {
    yield { field: 'structured_outputs.json_object', toEbnf: anyObject };
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
): Generator<Source> {
  if (json !== undefined && json !== null) {
    yield { field: nameOf('json'), toEbnf: () => schemaToEbnf(parseSchema(json)) };
  }
  if (typeof regex === 'string') {
    const toEbnf = () => `root ::= ${regexToEbnf(regex, PLAIN_CHARACTERS)}\n`;
    yield { field: nameOf('regex'), toEbnf };
  }
  if (choice) yield { field: nameOf('choice'), toEbnf: () => choiceEbnf(choice) };
  if (typeof grammar === 'string') yield { field: nameOf('grammar'), toEbnf: () => grammar };
}

function parseSchema(json: unknown): unknown {
  if (typeof json !== 'string') return json;
  try {
    return JSON.parse(json);
  } catch {
    throw new GrammarError('expected a JSON schema, or its text; this is no JSON');
  }
}

function anyObject(): string {
  return schemaToEbnf({ type: 'object' });
}
