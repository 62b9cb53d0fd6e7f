/** JSON strings as EBNF: plain, of a length, by pattern, by format. */
import { anyOf, type CharacterRange, type EbnfRules, literal, repeat } from './ebnf.ts';
import { characterClass } from './character-class.ts';
import type { Bounds } from './counted-text.ts';
import { GrammarError } from './grammar-spec.ts';
import { LIMITS } from '../limits.ts';
import { type CountableEnd, countableEnd, withLengths } from './regex-lengths.ts';
import { parseRegex } from './regex-parser.ts';
import { type CharacterRules, type RegexNode, sizeOf, treeToEbnf } from './regex-tree.ts';

/** Control characters, quote, backslash: a JSON string must escape them. */
const UNSAFE: readonly CharacterRange[] = [
  [0x00, 0x1f],
  [0x22, 0x22],
  [0x5c, 0x5c],
];

const RAW = characterClass(UNSAFE, true);
const QUOTE = '"\\u0022"';
/** Never half of a surrogate pair. */
const ESCAPE =
  '["\\u005c\\u002fbfnrt] | "u" ([0-9A-Ca-cEFef] [0-9A-Fa-f]{3} | [Dd] [0-7] [0-9A-Fa-f]{2})';
/**
 * Characters that can follow a string in JSON: knowing them settles most tokens that reach past one
 * beforehand.
 */
const FOLLOWED = '(=[:,\\u007d\\u005d])';

/** Up to this length each place has a rule of its own; a longer string takes no escapes. */
const MAX_EXACT_LENGTH = 128;

/**
 * The rules of strings. They recurse to the right, character by character. The allowed tokens are
 * then known beforehand; with `(character)*` each of them would be tried at each step (4,096
 * tokens: 10 us for a mask instead of 3 ms).
 */
export function addStringRules(rules: EbnfRules): void {
  rules.set('escape', ESCAPE);
  rules.set('string-rest', rest('string-rest', true));
  rules.set('string', `${QUOTE} string-rest`);
}

/** One character and what comes after it, or the end. */
function rest(next: string, mayEnd: boolean): string {
  const more = `${RAW} ${next} | "\\u005c" escape ${next}`;
  return `(${mayEnd ? `${QUOTE} | ` : ''}${more}) ${FOLLOWED}`;
}

const IN_JSON_STRING: CharacterRules = {
  text: (characters) => literal(JSON.stringify(characters).slice(1, -1)),
  // Characters that need escaping are left out; the pattern's other texts remain.
  class: (ranges, negated) =>
    negated ? characterClass([...ranges, ...UNSAFE], true) : safeClass(ranges),
};

/** Characters of a class that are written with an escape; other control characters are left out. */
const ESCAPED = ['"', '\\', '\n', '\r', '\t'];

/** All of a text within a JSON string, also what has to be escaped there. */
export function jsonText(rules: EbnfRules): CharacterRules {
  return {
    ...IN_JSON_STRING,
    class: (ranges, negated) => {
      const escaped = ESCAPED.filter((character) => {
        const code = character.charCodeAt(0);
        return negated !== ranges.some(([from, to]) => from <= code && code <= to);
      });
      const plain = negated ? characterClass([...ranges, ...UNSAFE], true) : safeClassOf(ranges);
      const all = [plain, ...escaped.map((each) => IN_JSON_STRING.text(each))];
      return rules.shorten(anyOf(all.filter((each) => each !== null)));
    },
  };
}

const CONTRADICTION = 'maxLength is below minLength';

/** Repetitions without an end that begin with more are counted beside the grammar. */
const MAX_PLAIN_MIN = 1;

/** Conservative: whatever these describe is valid by any reading of the format. */
const FORMATS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    date: String.raw`[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])`,
    time: String.raw`([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ`,
    'date-time': String.raw`[12]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ`,
    email: String.raw`[a-z0-9]{1,32}([._][a-z0-9]{1,16})?@[a-z0-9]{1,32}\.[a-z]{2,6}`,
    uuid: '[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}',
    ipv4: String.raw`(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}`,
    hostname: String.raw`[a-z][a-z0-9]{0,30}(\.[a-z][a-z0-9]{1,20}){1,3}`,
    uri: String.raw`https?://[a-z][a-z0-9]{0,30}(\.[a-z][a-z0-9]{1,20}){1,3}(/[a-zA-Z0-9_-]{1,40}){0,4}`,
  }),
);

export interface StringWishes {
  readonly minLength?: number | undefined;
  readonly maxLength?: number | undefined;
  readonly pattern?: string | undefined;
  /** Unknown formats are annotations, as JSON Schema has it. */
  readonly format?: string | undefined;
}

/** A string whose characters are counted beside the grammar. */
export interface CountedString {
  readonly bounds: Bounds;
  /** An expression for the string without its bounds. */
  readonly ebnf: (rules: EbnfRules) => string;
}

/**
 * Null for strings without bounds that can be counted. Where the wishes can't be kept, that is null too:
 * `stringEbnf` says why.
 */
export function countedString(wishes: StringWishes): CountedString | null {
  const { minLength = 0, maxLength = null } = wishes;
  if (minLength > (maxLength ?? Infinity)) return null;
  const expression = expressionOf(wishes);
  if (expression === undefined) {
    if (minLength === 0 && maxLength === null) return null;
    return { bounds: [minLength, maxLength], ebnf: () => 'string' };
  }
  const end = countablePattern(expression, minLength, maxLength);
  if (end === null) return null;
  const { before, repeated, bounds } = end;
  return { bounds, ebnf: (rules) => endingWith(rules, before, repeated) };
}

/**
 * A pattern's texts of so many characters, where those can be counted beside the grammar. Null elsewhere.
 * @throws GrammarError when the pattern can't be read
 */
export function countablePattern(
  pattern: string,
  minLength: number,
  maxLength: number | null,
): CountableEnd | null {
  const tree = withLengths(parseRegex(pattern), minLength, maxLength ?? Infinity);
  const end = tree && countableEnd(tree);
  if (end === null || (end.bounds[1] === null && end.bounds[0] <= MAX_PLAIN_MIN)) return null;
  return end;
}

/** The pattern that is kept. Libraries also write a format's pattern, often one with look-around. */
export function expressionOf({ pattern, format }: StringWishes): string | undefined {
  return FORMATS.get(format ?? '') ?? pattern;
}

/** Then any number of these characters; recursion as in `addStringRules`. */
function endingWith(rules: EbnfRules, before: RegexNode, repeated: RegexNode): string {
  const name = rules.reserve();
  rules.set(name, `(${QUOTE} | ${treeToEbnf(repeated, IN_JSON_STRING)} ${name}) ${FOLLOWED}`);
  return rules.add(`${QUOTE} ${treeToEbnf(before, IN_JSON_STRING)} ${name}`);
}

/**
 * An expression for such strings.
 * @throws GrammarError when the wishes contradict each other or can't be kept together.
 */
export function stringEbnf(rules: EbnfRules, wishes: StringWishes): string {
  const { minLength = 0, maxLength } = wishes;
  const expression = expressionOf(wishes);
  if (expression === undefined) return stringOfLength(rules, minLength, maxLength ?? null);
  return `${QUOTE} (${patternEbnf(expression, wishes, IN_JSON_STRING)}) ${QUOTE}`;
}

/**
 * The pattern's texts of so many characters, as `withLengths` finds them.
 * @throws GrammarError when the pattern can't be read, or has none
 */
export function patternEbnf(
  pattern: string,
  { minLength = 0, maxLength = Infinity }: Pick<StringWishes, 'minLength' | 'maxLength'>,
  characters: CharacterRules,
): string {
  if (maxLength < minLength) throw new GrammarError(CONTRADICTION);
  const tree = withLengths(parseRegex(pattern), minLength, maxLength);
  if (tree === null) {
    throw new GrammarError(
      `no text of this pattern or format was found that has ${lengthText(minLength, maxLength)}`,
    );
  }
  if (sizeOf(tree) <= LIMITS.grammarRegexSize) return treeToEbnf(tree, characters);
  throw new GrammarError(
    `the pattern, with its repetitions kept to ${lengthText(minLength, maxLength)}, ` +
      `comes to more than ${LIMITS.grammarRegexSize} characters`,
  );
}

function lengthText(min: number, max: number): string {
  return max === Infinity ? `at least ${min} characters` : `${min} to ${max} characters`;
}

function stringOfLength(rules: EbnfRules, min: number, max: number | null): string {
  if (max !== null && max < min) throw new GrammarError(CONTRADICTION);
  if (min === 0 && max === null) return 'string';
  if ((max ?? min) > MAX_EXACT_LENGTH) {
    return `${QUOTE} ${repeat(RAW, min, max)} ${QUOTE}`;
  }
  let next = max === null ? 'string-rest' : QUOTE;
  for (let length = (max ?? min) - 1; length >= 0; length--) {
    next = rules.add(rest(next, length >= min));
  }
  return `${QUOTE} ${next}`;
}

function safeClass(ranges: readonly CharacterRange[]): string {
  const safe = safeClassOf(ranges);
  if (safe !== null) return safe;
  throw new GrammarError('a class has only characters that a string cannot hold unescaped');
}

/** Null where none is left. */
function safeClassOf(ranges: readonly CharacterRange[]): string | null {
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
  return safe.length === 0 ? null : characterClass(safe, false);
}
