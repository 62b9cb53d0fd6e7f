/** Grammars that make a model call tools. */
import { anyOf, EbnfRules, literal } from './ebnf.ts';
import type { RequiredTools, ToolCallLayout } from './grammar-source.ts';
import { addJsonRules, SchemaCompiler } from './schema-compiler.ts';
import { SchemaParts } from './schema-parts.ts';

/** Against a model that calls tools without end. */
const MAX_PARALLEL_CALLS = 16;

const NO_PARAMETERS = { type: 'object', properties: {} };

/**
 * The grammar of one call, or of several, of these tools in the model's own format.
 * @throws GrammarError when a tool's parameters can't be enforced.
 */
export function toolCallsEbnf({ layout, tools, parallel }: RequiredTools): string {
  const rules = new EbnfRules();
  addJsonRules(rules);
  // One budget for all; each tool's references lead into its own parameters.
  const parts = new SchemaParts();
  const calls = tools.map(({ function: { name, parameters } }, index) => {
    const compiler = new SchemaCompiler(rules, parts, parameters ?? NO_PARAMETERS);
    const start = `{"name": ${JSON.stringify(name)}, "${layout.argumentsKey}": `;
    return `${literal(start)} ${compiler.compileRoot(`tools/${index}`)} ${literal('}')}`;
  });
  const more = parallel ? MAX_PARALLEL_CALLS - 1 : 0;
  rules.set('root', wrap(layout, rules.add(anyOf(calls)), more));
  return rules.toString();
}

function wrap(layout: ToolCallLayout, call: string, more: number): string {
  const { open, openIsOptional, list } = layout;
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
