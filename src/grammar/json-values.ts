/** JSON values of any kind as EBNF. */
import { COMMA, type EbnfRules } from './ebnf.ts';
import { addStringRules } from './json-strings.ts';
import { INTEGER, NUMBER } from './number-ebnf.ts';

/** Sets the rules of any JSON value, `value`, and `object`, `array`, `string` with it. */
export function addJsonRules(rules: EbnfRules): void {
  addStringRules(rules);
  rules.set('integer', INTEGER);
  rules.set('number', NUMBER);
  rules.set('array', `"[" (value (${COMMA} value)*)? "]"`);
  rules.set('member', 'string ": " value');
  rules.set('object', `"{" (member (${COMMA} member)*)? "}"`);
  rules.set('value', 'object | array | string | number | "true" | "false" | "null"');
}
