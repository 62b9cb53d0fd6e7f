/** Bodies that were right once. */
import * as fc from 'fast-check';
import { junk } from './schema-arbitrary.ts';

type Path = readonly (string | number)[];

/** Every place in `value`, itself first. */
function placesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([key, item]) => placesOf(item, [...path, key]));
  return [path, ...inner];
}

function replace(value: unknown, [key, ...rest]: Path, by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) =>
      String(index) === String(key) ? replace(item, rest, by) : item,
    );
  }
  if (typeof value !== 'object' || value === null) return by;
  const entries = Object.entries(value).map(([name, item]): [string, unknown] => [
    name,
    name === key ? replace(item, rest, by) : item,
  ]);
  return Object.fromEntries(entries);
}

/** `bodies` with something else at one to three of their places. */
export function mutated(bodies: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const changes = fc.array(fc.tuple(fc.nat(), junk), { minLength: 1, maxLength: 3 });
  return fc.tuple(bodies, changes).map(([body, list]) => {
    let value = body;
    for (const [seed, by] of list) {
      const places = placesOf(value);
      value = replace(value, places[seed % places.length] ?? [], by);
    }
    return value;
  });
}

const HOLE = 'here it gets deep';

/** JSON text with lists or objects nested at one of its places, up to far deeper than is allowed. */
export function nested(bodies: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const depth = fc.oneof(fc.integer({ min: 1, max: 70 }), fc.constantFrom(1000, 10_000));
  const unit = fc.constantFrom(['[', ']'], ['{"a":', '}'], ['[{"properties":', '}]']);
  return fc
    .tuple(bodies, fc.nat(), depth, unit)
    .map(([body, seed, count, [open = '', end = '']]) => {
      const places = placesOf(body);
      const text = JSON.stringify(replace(body, places[seed % places.length] ?? [], HOLE));
      const deep = `${open.repeat(count)}1${end.repeat(count)}`;
      return text.replace(JSON.stringify(HOLE), () => deep);
    });
}

/** JSON text with bytes changed, left out and put in, which mostly is not JSON any more. */
export function garbled(bodies: fc.Arbitrary<unknown>): fc.Arbitrary<Uint8Array> {
  const edit = fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 3 }), fc.nat({ max: 4 }));
  return fc.tuple(bodies, fc.array(edit, { minLength: 1, maxLength: 4 })).map(([body, edits]) => {
    let bytes = [...Buffer.from(JSON.stringify(body) ?? '', 'utf8')];
    for (const [seed, inserted, numRemoved] of edits) {
      bytes = bytes.toSpliced(seed % (bytes.length + 1), numRemoved, ...inserted);
    }
    return Uint8Array.from(bytes);
  });
}
