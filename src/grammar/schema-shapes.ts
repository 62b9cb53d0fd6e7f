/** Forms that values of schemas have, as far as they lead to strings. */
import type { Bounds } from './counted-text.ts';

/** Any value; not the number of a schema. */
export const ANY = -1;
/** Any string; not the number of a schema. */
export const TEXT = -2;

export type Shape =
  /** A string; null bounds are none, or kept by the grammar itself. */
  | { readonly kind: 'text'; readonly bounds: Bounds | null }
  | ObjectShape
  | ArrayShape
  /** The shapes of another schema. */
  | { readonly kind: 'as'; readonly number: number };

/** Schemas are told by number. */
export interface ObjectShape {
  readonly kind: 'object';
  /** By key, as JSON writes it without quotes. */
  readonly members: Map<string, number>;
  /** Shape of values whose keys no schema names. */
  keys: number | null;
  rest: number | null;
}

export interface ArrayShape {
  readonly kind: 'array';
  readonly first: number[];
  rest: number | null;
}

/** The place of a part in its schema. */
export type PartPlace =
  | { readonly of: 'key' | 'rest' }
  | { readonly of: 'member'; readonly name: string }
  | { readonly of: 'first'; readonly index: number };

/** Collects the shapes of one schema's parts. */
export class SchemaShapes {
  /** By the schema's number. A number that is not there may be any value. */
  readonly byNumber = new Map<number, Shape[]>();
  readonly #exact: ReadonlySet<string>;

  /** @param exact bounds that the grammar keeps itself, as `boundsKey` writes them */
  constructor(exact: ReadonlySet<string>) {
    this.#exact = exact;
  }

  /** Adds a string. @returns whether its characters are counted beside the grammar */
  addText(shapes: Shape[], bounds: Bounds | null): boolean {
    const isCounted = bounds !== null && !this.#exact.has(boundsKey(bounds));
    shapes.push({ kind: 'text', bounds: isCounted ? bounds : null });
    return isCounted;
  }
}

export function boundsKey([min, max]: Bounds): string {
  return `${min} ${max ?? ''}`;
}

/** Adds what a given value is. */
export function addValues(shapes: Shape[], values: readonly unknown[]): void {
  if (values.some((value) => typeof value === 'object' && value !== null)) {
    shapes.push({ kind: 'as', number: ANY });
  } else if (values.some((value) => typeof value === 'string')) {
    shapes.push({ kind: 'as', number: TEXT });
  }
}

export function addPart(shape: ObjectShape | ArrayShape, place: PartPlace, number: number): void {
  if (place.of === 'rest') shape.rest = number;
  else if (shape.kind === 'array' && place.of === 'first') shape.first[place.index] = number;
  else if (shape.kind === 'object' && place.of === 'key') shape.keys = number;
  else if (shape.kind === 'object' && place.of === 'member') {
    shape.members.set(JSON.stringify(place.name).slice(1, -1), number);
  }
}
