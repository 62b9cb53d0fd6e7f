/** Places of a JSON text where characters are counted, from the shapes of its schema. */
import { LIMITS } from '../limits.ts';
import { type Bounds, type CountedPlace, NOTHING_COUNTED } from './counted-text.ts';
import {
  ANY,
  type ArrayShape,
  boundsKey,
  type ObjectShape,
  type Shape,
  TEXT,
} from './schema-shapes.ts';

export interface FoundPlaces {
  /** The first is the root's; empty when nothing is counted. */
  readonly places: readonly CountedPlace[];
  /** Bounds of strings that may stand where others may, which the text does not tell apart. */
  readonly ambiguous: ReadonlySet<string>;
}

interface Draft {
  text: Bounds | null;
  /** The place of an object's keys. */
  keys: number;
  object: { members: (readonly [string, number])[]; rest: number } | null;
  array: { first: number[]; rest: number } | null;
}

type Shapes = ReadonlyMap<number, readonly Shape[]>;

/**
 * Puts alternatives together: a place has all the shapes that the text before it leaves open. Null when
 * that takes too long, as alternatives within alternatives may.
 */
export function findPlaces(shapes: Shapes, root: number): FoundPlaces | null {
  const finder = new PlaceFinder(shapes);
  return finder.find(root) ? { places: finder.trimmed(), ambiguous: finder.ambiguous } : null;
}

class PlaceFinder {
  readonly ambiguous = new Set<string>();
  readonly #shapes: Shapes;
  readonly #drafts: Draft[] = [];
  /** The shapes of each place. */
  readonly #found: (readonly Shape[])[] = [];
  readonly #indices = new Map<string, number>();
  #left: number = LIMITS.grammarSchemaParts;

  constructor(shapes: Shapes) {
    this.#shapes = shapes;
  }

  find(root: number): boolean {
    this.#placeOf([root]);
    for (let index = 0; index < this.#found.length; index++) {
      this.#drafts.push(this.#draft(this.#found[index] ?? []));
      if (this.#left < 0) return false;
    }
    return true;
  }

  /** Places that lead to a counted string, in order. */
  trimmed(): CountedPlace[] {
    const parents = this.#drafts.map((): number[] => []);
    const counted: number[] = [];
    for (const [index, draft] of this.#drafts.entries()) {
      if (draft.text !== null) counted.push(index);
      for (const child of childrenOf(draft)) parents[child]?.push(index);
    }
    const kept = new Set(counted);
    for (const index of kept) for (const parent of parents[index] ?? []) kept.add(parent);
    if (!kept.has(0)) return [];
    const order = [...kept].toSorted((a, b) => a - b);
    const renamed = new Map(order.map((old, index) => [old, index]));
    const name = (old: number) => renamed.get(old) ?? NOTHING_COUNTED;
    return order.map((old) => this.#trim(this.#drafts[old], name));
  }

  #trim(draft: Draft | undefined, name: (old: number) => number): CountedPlace {
    if (draft === undefined) return {};
    const { text } = draft;
    const keys = this.#drafts[draft.keys]?.text ?? null;
    const objectRest = name(draft.object?.rest ?? NOTHING_COUNTED);
    // A key that is not told of has the place of the others.
    const members = (draft.object?.members ?? [])
      .map(([key, place]) => [key, name(place)] as const)
      .filter(([, place]) => place !== objectRest);
    const first = draft.array?.first.map(name) ?? [];
    const rest = name(draft.array?.rest ?? NOTHING_COUNTED);
    const hasObject = keys !== null || members.length > 0 || objectRest !== NOTHING_COUNTED;
    const hasArray = [...first, rest].some((place) => place !== NOTHING_COUNTED);
    const object = { ...(keys === null ? {} : { keys }), members, rest: objectRest };
    return {
      ...(text === null ? {} : { text }),
      ...(hasObject ? { object } : {}),
      ...(hasArray ? { array: { first, rest } } : {}),
    };
  }

  /** The place where values of these schemas may stand; its draft is made later. */
  #placeOf(numbers: readonly number[]): number {
    const closed = new Set(numbers);
    const shapes = new Set<Shape>();
    for (const number of closed) {
      this.#left--;
      if (number < 0) continue;
      const own = this.#shapes.get(number);
      if (own === undefined) closed.add(ANY);
      for (const shape of own ?? []) {
        if (shape.kind === 'as') closed.add(shape.number);
        else shapes.add(shape);
      }
    }
    if (shapes.size === 0) return NOTHING_COUNTED;
    if (closed.has(ANY)) shapes.add(ANY_OBJECT).add(ANY_ARRAY);
    if (closed.has(ANY) || closed.has(TEXT)) shapes.add(ANY_TEXT);
    const key = [...closed].toSorted((a, b) => a - b).join();
    const known = this.#indices.get(key);
    if (known !== undefined) return known;
    const index = this.#found.length;
    this.#indices.set(key, index);
    this.#found.push([...shapes]);
    return index;
  }

  #draft(shapes: readonly Shape[]): Draft {
    const objects: ObjectShape[] = [];
    const arrays: ArrayShape[] = [];
    const texts = new Map<string, Bounds | null>();
    for (const shape of shapes) {
      if (shape.kind === 'object') objects.push(shape);
      if (shape.kind === 'array') arrays.push(shape);
      if (shape.kind === 'text') {
        texts.set(shape.bounds === null ? '' : boundsKey(shape.bounds), shape.bounds);
      }
    }
    if (texts.size > 1) for (const key of texts.keys()) if (key !== '') this.ambiguous.add(key);
    const [text = null] = texts.size === 1 ? texts.values() : [];
    return {
      text,
      keys: this.#keys(objects),
      object: this.#object(objects),
      array: this.#array(arrays),
    };
  }

  #keys(objects: readonly ObjectShape[]): number {
    const numbers = objects.map(({ keys }) => keys).filter((keys) => keys !== null);
    if (numbers.length === 0) return NOTHING_COUNTED;
    const areGiven = objects.some(({ members }) => members.size > 0);
    return this.#placeOf(areGiven ? [...numbers, TEXT] : numbers);
  }

  #object(objects: readonly ObjectShape[]): Draft['object'] {
    if (objects.length === 0) return null;
    const names = new Set(objects.flatMap(({ members }) => [...members.keys()]));
    const members: (readonly [string, number])[] = [];
    for (const name of names) {
      this.#left -= objects.length;
      if (this.#left < 0) break;
      const numbers = objects.map((shape) => shape.members.get(name) ?? shape.rest);
      members.push([name, this.#placeOf(numbers.filter((number) => number !== null))]);
    }
    const rests = objects.map(({ rest }) => rest).filter((rest) => rest !== null);
    return { members, rest: this.#placeOf(rests) };
  }

  #array(arrays: readonly ArrayShape[]): Draft['array'] {
    if (arrays.length === 0) return null;
    const length = arrays.reduce((most, { first }) => Math.max(most, first.length), 0);
    const first: number[] = [];
    for (let index = 0; index < length && this.#left >= 0; index++) {
      this.#left -= arrays.length;
      const numbers = arrays.map((shape) => shape.first[index] ?? shape.rest);
      first.push(this.#placeOf(numbers.filter((number) => number !== null)));
    }
    const rests = arrays.map(({ rest }) => rest).filter((rest) => rest !== null);
    return { first, rest: this.#placeOf(rests) };
  }
}

const ANY_TEXT: Shape = { kind: 'text', bounds: null };
const ANY_OBJECT: Shape = { kind: 'object', members: new Map(), keys: TEXT, rest: ANY };
const ANY_ARRAY: Shape = { kind: 'array', first: [], rest: ANY };

function childrenOf({ keys, object, array }: Draft): number[] {
  const members = object?.members.map(([, place]) => place) ?? [];
  return [keys, object?.rest ?? -1, ...members, ...(array?.first ?? []), array?.rest ?? -1];
}
