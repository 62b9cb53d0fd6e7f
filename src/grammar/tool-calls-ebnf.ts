/** Grammars of texts that call tools: that must, or that may and then do it as their schemas say. */
import { CallEbnf } from './call-ebnf.ts';
import { characterClass } from './character-class.ts';
import { CountedArguments } from './counted-arguments.ts';
import { withCounts } from './counted-text.ts';
import { anyOf, EbnfRules, literal } from './ebnf.ts';
import type { ToolCalls } from './grammar-source.ts';
import { MarkerEbnf } from './marker-ebnf.ts';
import { addJsonRules } from './json-values.ts';
import { SchemaParts } from './schema-parts.ts';
import type { ToolCallLayout } from './tool-call-layout.ts';

/** Against a model that calls tools without end. */
const MAX_PARALLEL_CALLS = 16;

/** Between parts of a call that the model writes of its own accord. */
const SPACES = [' ', '\n', '\t'];
const SPACE = '[ \\n\\t]{0,4}';
const ANY = characterClass([], true);

/**
 * The grammar of a text with calls of these tools in the model's own format.
 * @param canCount whether bounded strings may be counted beside it
 * @throws GrammarError when a tool's parameters can't be enforced.
 */
export function toolCallsEbnf(
  { layout, tools, isRequired, parallel }: ToolCalls,
  canCount: boolean,
): string {
  const rules = new EbnfRules();
  addJsonRules(rules);
  const counted = canCount ? new CountedArguments() : null;
  const ebnf = new CallEbnf(rules, new SchemaParts(), layout.call, counted);
  const calls = tools.map(({ function: tool, input }, index) => {
    const path = `tools/${index}`;
    if (input !== undefined) return ebnf.textCall(tool.name, input, path);
    return ebnf.call(tool, path, isRequired || tool.strict === true);
  });
  const more = parallel && layout.repeats !== 'never' ? MAX_PARALLEL_CALLS - 1 : 0;
  const call = rules.add(anyOf(calls));
  rules.set('root', isRequired ? required(layout, call, more) : free(layout, rules, call, more));
  return withCounts(rules.toString(), counted?.counts(layout) ?? null);
}

/** Calls and nothing else. */
function required(layout: ToolCallLayout, call: string, more: number): string {
  const { openIsOptional, begin, separator, end } = layout;
  const open = literals((openIsOptional ? '' : layout.open) + begin);
  if (layout.repeats === 'calls')
    return `${open} ${repeated(call, separator, more)} ${literals(end)}`;
  return repeated(`${open} ${call} ${literals(end)}`, separator, more);
}

function repeated(item: string, separator: string, more: number): string {
  return more === 0 ? item : `${item} (${literals(separator)} ${item}){0,${more}}`;
}

/** Any text, in which what opens a call is followed by one. */
function free(layout: ToolCallLayout, rules: EbnfRules, call: string, more: number): string {
  const { openIsOptional, begin } = layout;
  const open = layout.open.trim();
  const end = layout.end.trim();
  const opener = new MarkerEbnf(open);
  const text = rules.add(opener.textWithout());
  const start = `${literal(open)} ${SPACE} ${begin === '' ? '' : `${literals(begin)} ${SPACE}`}`;
  if (layout.repeats !== 'calls') {
    const section = `${start} ${call} ${end === '' ? '' : `${SPACE} ${literal(end)}`}`;
    return `${text} (${section} ${text}){0,${more + 1}}`;
  }
  const between = layout.separator.trim();
  const next = [SPACE, ...(between === '' ? [] : [literal(between), SPACE]), call].join(' ');
  const calls = `${call} (${next}){0,${more}} ${SPACE} ${literals(end)}`;
  if (!openIsOptional) return `${text} (${start} ${calls} ${text})?`;
  // Calls open the text or are none; a text that begins as one is one.
  const first = begin === '' ? '{' : begin;
  const other = `(${opener.startsOtherwise([first, ...SPACES])} ${ANY}*)? | ${opener.prefix}`;
  const bare = begin === '' ? '' : `${literal(begin)} ${SPACE}`;
  return `${SPACE} (${literal(open)}? ${SPACE} ${bare} ${calls} | ${other})`;
}

function literals(text: string): string {
  return text === '' ? '' : literal(text);
}
