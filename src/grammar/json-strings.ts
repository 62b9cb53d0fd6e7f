/** JSON strings as EBNF: plain, of a length, by pattern, by format. */
import { type CharacterRange, characterClass, literal, repeat } from './ebnf.ts';
import { GrammarError } from './grammar-spec.ts';
import { type CharacterRules, regexToEbnf } from './regex-parser.ts';

/** Control characters, quote, backslash: they can't stand in a JSON string as they are. */
const UNSAFE: readonly CharacterRange[] = [
  [0x00, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
];

/** One character, raw or escaped; never half of a surrogate pair. */
export const STRING_CHARACTER =
  `(${characterClass(UNSAFE, true)} | "\\u005c" (["\\u005c\\u002fbfnrt] | "u" ` +
  '([0-9A-Ca-cEFef] [0-9A-Fa-f]{3} | [Dd] [0-7] [0-9A-Fa-f]{2})))';

/** The rule of any string. */
export const STRING = `"\\u0022" ${STRING_CHARACTER}* "\\u0022"`;

const IN_JSON_STRING: CharacterRules = {
  one: (character) => literal(JSON.stringify(character).slice(1, -1)),
  // What would have to be escaped is left out, which leaves the pattern's other texts.
  class: (ranges, negated) =>
    negated ? characterClass([...ranges, ...UNSAFE], true) : safeClass(ranges),
};

/** Conservative: whatever these describe is valid by any reading of the format. */
const FORMATS: Readonly<Record<string, string>> = {
  date: String.raw`[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])`,
  time: String.raw`([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ`,
  'date-time': String.raw`[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ`,
  email: String.raw`[a-z0-9]{1,32}([._][a-z0-9]{1,16})?@[a-z0-9]{1,32}\.[a-z]{2,6}`,
  uuid: '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}',
  ipv4: String.raw`(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}`,
  hostname: String.raw`[a-z][a-z0-9]{0,30}(\.[a-z][a-z0-9]{1,20}){1,3}`,
  uri: String.raw`https?://[a-z][a-z0-9]{0,30}(\.[a-z][a-z0-9]{1,20}){1,3}(/[a-zA-Z0-9_-]{1,40}){0,4}`,
};

export interface StringRules {
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly pattern?: string | undefined;
  /** Unknown formats are annotations, as JSON Schema has it. */
  readonly format?: string | undefined;
}

/** @throws GrammarError when the rules contradict each other or can't be kept together. */
export function stringEbnf({ minLength, maxLength, pattern, format }: StringRules): string {
  const known = format === undefined ? undefined : FORMATS[format];
  const hasLength = maxLength !== undefined || (minLength ?? 0) > 0;
  // Libraries write a format's pattern beside it, often one with look-around.
  const expression = known ?? pattern;
  if (expression === undefined) {
    if (maxLength !== undefined && maxLength < (minLength ?? 0)) {
      throw new GrammarError('maxLength is below minLength');
    }
    if (!hasLength) return STRING;
    return quoted(repeat(STRING_CHARACTER, minLength ?? 0, maxLength ?? null));
  }
  if (hasLength && known === undefined) {
    throw new GrammarError('pattern together with minLength or maxLength is not supported');
  }
  return quoted(regexToEbnf(expression, IN_JSON_STRING));
}

function quoted(expression: string): string {
  return `"\\u0022" (${expression}) "\\u0022"`;
}

function safeClass(ranges: readonly CharacterRange[]): string {
  let safe = [...ranges];
  for (const [from, to] of UNSAFE) {
    safe = safe.flatMap(([low, high]): CharacterRange[] => {
      const parts: CharacterRange[] = [
        [low, Math.min(high, from - 1)],
        [Math.max(low, to + 1), high],
      ];
      return parts.filter(([first, last]) => first <= last);
    });
  }
  if (safe.length === 0) {
    throw new GrammarError('a class has only characters that a string can not hold unescaped');
  }
  return characterClass(safe, false);
}
