/** Jinja's tests by which filters pick items. */
import { UNDEFINED, type Value } from './engine-values.ts';

type ValueTest = (value: Value, argument: Value | undefined) => boolean;

const typed =
  (...types: string[]): ValueTest =>
  ({ type }) =>
    types.includes(type);

/** @param isWanted of the sign of a difference */
const compared =
  (isWanted: (sign: number) => boolean): ValueTest =>
  (value, other) => {
    const [first, second] = [value.value as number, other?.value as number];
    return isWanted(first < second ? -1 : first > second ? 1 : 0);
  };
const equal: ValueTest = (value, other) => other !== undefined && isEqual(value, other);
const unequal: ValueTest = (value, other) => !equal(value, other);
const above = compared((sign) => sign > 0);
const below = compared((sign) => sign < 0);
const notBelow = compared((sign) => sign >= 0);
const notAbove = compared((sign) => sign <= 0);
const isDefined: ValueTest = ({ type }) => type !== UNDEFINED;

export const TESTS: ReadonlyMap<string, ValueTest> = new Map<string, ValueTest>([
  ['equalto', equal],
  ['eq', equal],
  ['==', equal],
  ['ne', unequal],
  ['!=', unequal],
  ['gt', above],
  ['greaterthan', above],
  ['>', above],
  ['lt', below],
  ['lessthan', below],
  ['<', below],
  ['ge', notBelow],
  ['>=', notBelow],
  ['le', notAbove],
  ['<=', notAbove],
  ['in', (value, list) => list !== undefined && isIn(value, list)],
  ['defined', isDefined],
  ['undefined', (value) => !isDefined(value, undefined)],
  ['none', typed('NullValue')],
  ['string', typed('StringValue')],
  ['number', typed('IntegerValue', 'FloatValue')],
  ['integer', typed('IntegerValue')],
  ['float', typed('FloatValue')],
  ['boolean', typed('BooleanValue')],
  ['mapping', typed('ObjectValue')],
  ['iterable', typed('ArrayValue', 'TupleValue', 'ObjectValue', 'StringValue', UNDEFINED)],
  ['sequence', typed('ArrayValue', 'TupleValue', 'ObjectValue', 'StringValue')],
  ['true', ({ value }) => value === true],
  ['false', ({ value }) => value === false],
  ['odd', ({ value }) => Math.abs((value as number) % 2) === 1],
  ['even', ({ value }) => (value as number) % 2 === 0],
]);

/** As Python's `bool()`. */
export function isTruthy({ type, value }: Value): boolean {
  if (type === UNDEFINED) return false;
  if (Array.isArray(value)) return value.length > 0;
  return value instanceof Map ? value.size > 0 : Boolean(value);
}

function isIn(value: Value, list: Value): boolean {
  const items: unknown = list.value;
  if (Array.isArray(items)) return (items as Value[]).some((item) => isEqual(value, item));
  if (items instanceof Map) return items.has(value.value);
  return typeof items === 'string' && items.includes(String(value.value));
}

/** As Python's `==`. */
function isEqual(one: Value, other: Value): boolean {
  const [first, second] = [one.value, other.value];
  if (Array.isArray(first) && Array.isArray(second)) {
    const items = second as Value[];
    return (
      first.length === items.length &&
      (first as Value[]).every((item, at) => {
        const same = items[at];
        return same !== undefined && isEqual(item, same);
      })
    );
  }
  if (first instanceof Map && second instanceof Map) {
    const members = second as Map<unknown, Value>;
    return (
      first.size === members.size &&
      [...(first as Map<unknown, Value>)].every(([key, item]) => {
        const same = members.get(key);
        return same !== undefined && isEqual(item, same);
      })
    );
  }
  if (typeof first === 'string' || typeof second === 'string') return first === second;
  const isNothing = [one, other].map(({ type }) => type === UNDEFINED || type === 'NullValue');
  if (isNothing.includes(true)) return one.type === other.type;
  return Number(first) === Number(second);
}
