/** Jinja's filters that the template engine lacks, or has for some values alone. */
import { listOf, NOTHING, UNDEFINED, type Value, valueOf } from './engine-values.ts';
import { isTruthy, TESTS } from './python-tests.ts';
import { pythonText } from './python-text.ts';
import { TEXT_METHODS } from './python-text-methods.ts';

export interface FilterArguments {
  readonly plain: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
  /** @returns what another filter makes of a value */
  readonly apply: (value: Value, name: string, rest: readonly Value[]) => Value;
}

/** @returns undefined where the engine's own filter is as good */
type Filter = (value: Value, given: FilterArguments) => Value | undefined;

export const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ['select', (value, given) => picked(value, given, true, false)],
  ['reject', (value, given) => picked(value, given, false, false)],
  ['selectattr', (value, given) => picked(value, given, true, true)],
  ['rejectattr', (value, given) => picked(value, given, false, true)],
  ['map', mapped],
  ['sum', summed],
  ['count', (value, { apply }) => apply(value, 'length', [])],
  ['d', defaulted],
  ['trim', trimmed],
  ['first', (value) => (isEmptyList(value) ? NOTHING : undefined)],
  ['last', (value) => (isEmptyList(value) ? NOTHING : undefined)],
  ['join', joined],
  ['list', ({ value }) => (value instanceof Map ? listOf(keysOf(value)) : undefined)],
  [
    'capitalize',
    (value) => (typeof value.value === 'string' ? capitalized(value.value) : undefined),
  ],
]);

function itemsOf({ value }: Value): readonly Value[] | null {
  if (value instanceof Map) return keysOf(value);
  return Array.isArray(value) ? (value as Value[]) : null;
}

function keysOf(members: ReadonlyMap<unknown, unknown>): Value[] {
  return [...members.keys()].map(valueOf);
}

function defaulted(value: Value, { plain, named }: FilterArguments): Value {
  const [other = valueOf(''), second] = plain;
  const takesFalse = named.get('boolean') ?? second;
  const isMissing = value.type === UNDEFINED || (takesFalse?.value === true && !isTruthy(value));
  return isMissing ? other : value;
}

function trimmed(value: Value, { plain }: FilterArguments): Value | undefined {
  if (plain.length === 0) return undefined;
  return valueOf(TEXT_METHODS.get('strip')?.(pythonText(value), plain));
}

function isEmptyList({ value }: Value): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** @throws Error naming a test that there is not */
function picked(
  value: Value,
  { plain }: FilterArguments,
  isWanted: boolean,
  isOfMember: boolean,
): Value | undefined {
  const items = itemsOf(value);
  if (items === null) return undefined;
  const [attribute, rest] = isOfMember ? [plain[0], plain.slice(1)] : [undefined, plain];
  const [name, argument] = rest;
  const test = name === undefined ? isTruthy : TESTS.get(String(name.value));
  if (test === undefined) throw new Error(`there is no test '${String(name?.value)}'`);
  const isPicked = (item: Value): boolean =>
    test(attribute === undefined ? item : memberOf(item, attribute), argument) === isWanted;
  return listOf(items.filter(isPicked));
}

function mapped(value: Value, { plain, named, apply }: FilterArguments): Value | undefined {
  const items = itemsOf(value);
  if (items === null) return undefined;
  const attribute = named.get('attribute');
  if (attribute !== undefined) {
    const fallback = named.get('default') ?? NOTHING;
    const found = items.map((item) => memberOf(item, attribute));
    return listOf(found.map((each) => (each.type === UNDEFINED ? fallback : each)));
  }
  const [name, ...rest] = plain;
  if (name === undefined) return undefined;
  return listOf(items.map((item) => apply(item, String(name.value), rest)));
}

function summed(value: Value, { plain, named }: FilterArguments): Value | undefined {
  const attribute = named.get('attribute') ?? plain[0];
  const items = itemsOf(value)?.map((item) =>
    attribute === undefined ? item : memberOf(item, attribute),
  );
  if (items?.every((item) => typeof item.value === 'number') !== true) return undefined;
  return valueOf(items.reduce((sum, item) => sum + Number(item.value), 0));
}

function joined(value: Value, { plain, named }: FilterArguments): Value | undefined {
  const attribute = named.get('attribute') ?? plain[1];
  const items = itemsOf(value);
  if (items === null) return undefined;
  const between = named.get('d') ?? plain[0];
  const texts = items.map((item) =>
    pythonText(attribute === undefined ? item : memberOf(item, attribute)),
  );
  return valueOf(texts.join(between === undefined ? '' : pythonText(between)));
}

function capitalized(text: string): Value {
  const [first = '', ...rest] = Array.from(text);
  return valueOf(first.toUpperCase() + rest.join('').toLowerCase());
}

/** A member by its name, its place, or a path of these. */
function memberOf(value: Value, attribute: Value): Value {
  const path =
    typeof attribute.value === 'number' ? [attribute.value] : String(attribute.value).split('.');
  let found = value;
  for (const step of path) {
    const inner: unknown = found.value;
    if (inner instanceof Map) found = (inner as Map<unknown, Value>).get(step) ?? NOTHING;
    else if (Array.isArray(inner)) found = (inner as Value[])[Number(step)] ?? NOTHING;
    else return NOTHING;
  }
  return found;
}
