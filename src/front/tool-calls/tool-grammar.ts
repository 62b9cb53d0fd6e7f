/** Grammars that make a model call tools. */
import { literal } from '../../grammar/ebnf.ts';
import { schemaToEbnf } from '../../grammar/schema-compiler.ts';
import type { ToolCallFormat } from './formats.ts';

/** A tool as the API takes it. */
export interface ToolDefinition {
  readonly function: {
    readonly name: string;
    /** A JSON Schema; a tool without it takes no arguments. */
    readonly parameters?: unknown;
  };
}

/** Against a model that calls on and on. */
const MAX_PARALLEL_CALLS = 16;

const NO_PARAMETERS = { type: 'object', properties: {} };

/**
 * The grammar of one call, or of several, of these tools in the model's own format.
 * @throws GrammarError when a tool's parameters can't be enforced.
 */
export function toolCallEbnf(
  format: ToolCallFormat,
  tools: readonly ToolDefinition[],
  { parallel }: { readonly parallel: boolean },
): string {
  // Each tool's own references lead into its own part.
  const $defs = Object.fromEntries(
    tools.map(({ function: { parameters } }, index) => [
      `tool${index}`,
      withPrefix(parameters ?? NO_PARAMETERS, `#/$defs/tool${index}`),
    ]),
  );
  const calls = tools.map(({ function: { name } }, index) => ({
    type: 'object',
    properties: {
      name: { const: name },
      [format.argumentsKey]: { $ref: `#/$defs/tool${index}` },
    },
    required: ['name', format.argumentsKey],
  }));
  const more = parallel ? MAX_PARALLEL_CALLS - 1 : 0;
  return schemaToEbnf({ anyOf: calls, $defs }, (call) => wrap(format, call, more));
}

function wrap(format: ToolCallFormat, call: string, more: number): string {
  const { open, openIsOptional, list } = format;
  const repeated = (item: string) => (more === 0 ? '' : ` (${item}){0,${more}}`);
  if (list.separator === '') {
    // Each call has its own tags, on lines of their own.
    const tagged = `${literal(`${open}\n`)} ${call} ${literal(`\n${list.end}`)}`;
    return `${tagged}${repeated(`${literal('\n')} ${tagged}`)}`;
  }
  const start = (openIsOptional ? '' : open) + list.start;
  const calls = `${call}${repeated(`${literal(`${list.separator} `)} ${call}`)}`;
  return [start, list.end].some((text) => text !== '')
    ? `${literal(start)} ${calls} ${literal(list.end)}`
    : calls;
}

/** The schema with its references, which start at its own root, starting at `prefix`. */
function withPrefix(schema: unknown, prefix: string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => withPrefix(item, prefix));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === '$ref' && typeof value === 'string' && value.startsWith('#')
        ? [key, prefix + value.slice(1)]
        : [key, withPrefix(value, prefix)],
    ),
  );
}
