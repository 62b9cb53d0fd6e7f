import { LIMITS } from '../limits.ts';
import { clientEbnf } from './client-ebnf.ts';
import { canCountAfter, splitCounts, withCounts } from './counted-text.ts';
import { choiceEbnf, EbnfRules, tooLong } from './ebnf.ts';
import type { GrammarForm, GrammarSource } from './grammar-source.ts';
import { GrammarError } from './grammar-spec.ts';
import { larkToEbnf } from './lark-compiler.ts';
import { regexToEbnf } from './regex-parser.ts';
import { PLAIN_CHARACTERS } from './regex-tree.ts';
import { exactSchemaToEbnf, schemaToEbnf } from './schema-ebnf.ts';
import { afterThinking } from './thinking.ts';
import { toolCallsEbnf } from './tool-calls-ebnf.ts';

/**
 * The grammar that a request asks for. May take long: it has a thread to run in.
 * @throws GrammarError naming place and reason, or the limit that is exceeded
 */
export function sourceToEbnf({ form, thought }: Pick<GrammarSource, 'form' | 'thought'>): string {
  const text = formToEbnf(form, canCountAfter(thought));
  if (text.length > LIMITS.grammarEbnfCharacters) throw tooLong();
  if (thought === undefined) return text;
  const { ebnf, counts } = splitCounts(text);
  const callsTools = form.kind === 'tools';
  const after = afterThinking(ebnf, thought, callsTools);
  // Nothing marks an answer that may call tools.
  const before = callsTools ? { ...thought, answer: '' } : thought;
  return withCounts(after, counts && { ...counts, thought: before });
}

function formToEbnf(form: GrammarForm, canCount: boolean): string {
  switch (form.kind) {
    case 'json_object':
      return schemaToEbnf({ type: 'object' });
    case 'json_schema':
      return (canCount ? schemaToEbnf : exactSchemaToEbnf)(parseSchema(form.schema));
    case 'regex':
      return `root ::= ${regexToEbnf(form.pattern, PLAIN_CHARACTERS)}\n`;
    case 'choice':
      return choiceEbnf(form.choices);
    case 'ebnf':
      return clientEbnf(form.ebnf);
    case 'compiled':
      return form.text;
    case 'lark': {
      const rules = new EbnfRules();
      rules.set('root', larkToEbnf(form.definition, rules, PLAIN_CHARACTERS));
      return rules.toString();
    }
    case 'tools':
      return toolCallsEbnf(form, canCount);
  }
}

function parseSchema(schema: unknown): unknown {
  if (typeof schema !== 'string') return schema;
  try {
    return JSON.parse(schema);
  } catch {
    throw new GrammarError('expected a JSON schema or its text; this is not JSON');
  }
}
