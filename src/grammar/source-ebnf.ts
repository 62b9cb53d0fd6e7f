import { LIMITS } from '../limits.ts';
import { choiceEbnf, EbnfRules, tooLong } from './ebnf.ts';
import type { GrammarForm, GrammarSource } from './grammar-source.ts';
import { GrammarError } from './grammar-spec.ts';
import { larkToEbnf } from './lark-compiler.ts';
import { PLAIN_CHARACTERS, regexToEbnf } from './regex-parser.ts';
import { schemaToEbnf } from './schema-compiler.ts';
import { afterThinking } from './thinking.ts';
import { toolCallsEbnf } from './tool-calls-ebnf.ts';

/**
 * The grammar that a request asks for. May take long: it has a thread to run in.
 * @throws GrammarError naming place and reason, or the limit that is exceeded
 */
export function sourceToEbnf({ form, thought }: Pick<GrammarSource, 'form' | 'thought'>): string {
  const ebnf = formToEbnf(form);
  if (ebnf.length > LIMITS.grammarEbnfCharacters) throw tooLong();
  return thought === undefined ? ebnf : afterThinking(ebnf, thought, form.kind === 'tools');
}

function formToEbnf(form: GrammarForm): string {
  switch (form.kind) {
    case 'json_object':
      return schemaToEbnf({ type: 'object' });
    case 'json_schema':
      return schemaToEbnf(parseSchema(form.schema));
    case 'regex':
      return `root ::= ${regexToEbnf(form.pattern, PLAIN_CHARACTERS)}\n`;
    case 'choice':
      return choiceEbnf(form.choices);
    case 'ebnf':
      return form.ebnf;
    case 'lark': {
      const rules = new EbnfRules();
      rules.set('root', larkToEbnf(form.definition, rules, PLAIN_CHARACTERS));
      return rules.toString();
    }
    case 'tools':
      return toolCallsEbnf(form);
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
