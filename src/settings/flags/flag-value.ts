/** From what was given for a flag to its value, with one voice for what is wrong. */
import { type FlagSpec, isSwitch } from './flag-spec.ts';
import { UsageError } from '../usage-error.ts';
import { told } from '../../told.ts';

/** Source of a value. */
export type Place =
  | { readonly source: 'flag'; readonly flag: string }
  | { readonly source: 'environment'; readonly variable: string }
  | { readonly source: 'config file'; readonly file: string; readonly key: string };

/** Characters of a bad value that its error shows. */
const SHOWN = 80;

const WORDS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  '1': true,
  false: false,
  no: false,
  off: false,
  '0': false,
};

/** @throws UsageError */
export function readSwitch(text: string, place: Place): boolean {
  const value = WORDS[text.trim().toLowerCase()];
  if (value !== undefined) return value;
  throw badValue(text, place, 'expected true or false');
}

/**
 * The value of a flag that has one.
 * @param texts several of a list
 * @throws UsageError
 */
export function readTexts(spec: FlagSpec, texts: readonly string[], place: Place): unknown {
  const { schema, list, secret } = spec;
  if (schema === undefined) throw new TypeError(`${spec.flags} is a switch`);
  const items = list === 'commas' ? texts.flatMap((text) => splitList(text)) : texts;
  if (list === undefined && items.length !== 1) {
    throw badValue(null, place, `expected one value, and not ${items.length}`);
  }
  const result = schema.safeParse(list === undefined ? items[0] : items);
  if (result.success) return result.data;
  const expected = result.error.issues[0]?.message ?? 'expected another value';
  throw badValue(secret === undefined ? texts.join(' ') : null, place, expected);
}

/** As `readSwitch` or `readTexts`, whichever the flag is for. */
export function readGiven(spec: FlagSpec, texts: readonly string[], place: Place): unknown {
  return isSwitch(spec) ? readSwitch(texts[0] ?? '', place) : readTexts(spec, texts, place);
}

/** @param text null for one that no one gets to see */
export function badValue(text: string | null, place: Place, expected: string): UsageError {
  const shown = text !== null && text.length > SHOWN ? `${told(text, SHOWN)}...` : text;
  return new UsageError(`${whereOf(place, shown)}: ${expected}`);
}

function whereOf(place: Place, text: string | null): string {
  switch (place.source) {
    case 'flag':
      return text === null ? place.flag : `${place.flag} ${text === '' ? "''" : text}`;
    case 'environment':
      return text === null ? place.variable : `${place.variable}=${text}`;
    case 'config file':
      return `${place.file}: ${place.key}${text === null ? '' : `: ${text}`}`;
  }
}

/** Such as `a,b`, or as some tools write lists `["a", "b"]`. An object in JSON is one item. */
function splitList(text: string): string[] {
  if (text.startsWith('{')) return [text];
  if (text.startsWith('[')) {
    try {
      const items: unknown = JSON.parse(text);
      if (Array.isArray(items)) return items.map((item) => toText(item));
    } catch {
      // Taken as it is.
    }
  }
  return text.split(',').map((item) => item.trim());
}

function toText(item: unknown): string {
  return typeof item === 'string' ? item : JSON.stringify(item);
}
