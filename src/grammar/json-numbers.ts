/** JSON numbers of a schema as EBNF. */
import { numberOf, type Schema } from './json-schema.ts';
import { integerEbnf, numberEbnf } from './number-ebnf.ts';

/** @throws GrammarError when no number is within the bounds */
export function numbersEbnf(type: 'integer' | 'number', schema: Schema, path: string): string {
  const bounds = {
    minimum: numberOf(schema, 'minimum', path),
    maximum: numberOf(schema, 'maximum', path),
    exclusiveMinimum: numberOf(schema, 'exclusiveMinimum', path),
    exclusiveMaximum: numberOf(schema, 'exclusiveMaximum', path),
  };
  if (Object.values(bounds).every((bound) => bound === undefined)) return type;
  return type === 'integer' ? integerEbnf(bounds) : numberEbnf(bounds);
}
