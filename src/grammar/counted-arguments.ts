/** Strings in the arguments of tool calls whose characters are counted beside the grammar. */
import {
  type Bounds,
  type CallStart,
  type CountedCalls,
  type CountedParameter,
  type CountedPlace,
  type Counts,
  NOTHING_COUNTED,
} from './counted-text.ts';
import { GrammarError } from './grammar-spec.ts';
import type { Schema } from './json-schema.ts';
import { textEndOf } from './raw-text.ts';
import { type CountedSchema, countedSchema } from './schema-ebnf.ts';
import { SchemaParts } from './schema-parts.ts';
import { SchemaShapes } from './schema-shapes.ts';
import type { ToolCallLayout } from './tool-call-layout.ts';

/** Counted strings within arguments that stand one by one. */
export interface CountedPlaces {
  /** For a compiler of the schema, which leaves to them what is counted. */
  readonly shapes: SchemaShapes;
  /** Place of an argument's value, or NOTHING_COUNTED. */
  placeOf(key: string): number;
}

export class CountedArguments {
  readonly #places: CountedPlace[] = [];
  readonly #starts: CallStart[] = [];
  #hasTexts = false;
  /** One budget for all tools, as for their grammar. */
  readonly #parts = new SchemaParts();

  /**
   * Adds a tool. @param start of its calls, up to their arguments or number
   * @param args null for arguments that keep to no schema
   * @returns shapes for a compiler of the schema, which leaves to them what is counted; null for none
   * @throws GrammarError when the schema can't be enforced
   */
  add(
    start: string,
    args: { readonly schema: unknown; readonly path: string } | null,
  ): SchemaShapes | null {
    const counted = args && countedSchema(args.schema, args.path, () => this.#parts);
    const offset = this.#places.length;
    const hasPlaces = counted !== null && counted.places.length > 0;
    this.#starts.push({ text: start, place: hasPlaces ? offset : NOTHING_COUNTED });
    for (const place of counted?.places ?? []) this.#places.push(moved(place, offset));
    return counted === null ? null : new SchemaShapes(counted.exact);
  }

  /**
   * Finds the counted strings of a tool's arguments that stand one by one. Null where the grammar keeps all
   * bounds.
   */
  parameters(schema: Schema, path: string): CountedPlaces | null {
    // The grammar is of each by itself, and so are its bounds.
    const { allOf: _, anyOf: __, oneOf: ___, ...plain } = schema;
    const counted = countedIfPossible({ ...plain, type: 'object' }, path, this.#parts);
    if (counted === null) return null;
    const offset = this.#places.length;
    for (const place of counted.places) this.#places.push(moved(place, offset));
    const [root] = counted.places;
    const places = new Map(root?.object?.members);
    const rest = root?.object?.rest ?? NOTHING_COUNTED;
    return {
      shapes: new SchemaShapes(counted.exact),
      placeOf(key) {
        const place = places.get(JSON.stringify(key).slice(1, -1)) ?? rest;
        return place === NOTHING_COUNTED ? place : place + offset;
      },
    };
  }

  /** Adds a tool whose arguments stand one by one. @param start of its calls, up to the arguments */
  addParameters(start: string, parameters: readonly CountedParameter[]): void {
    this.#starts.push({ text: start, place: NOTHING_COUNTED, parameters });
    this.#hasTexts ||= parameters.some(({ bounds }) => bounds !== undefined && !isOpen(bounds));
  }

  /** Null when nothing is counted. */
  counts({ open, openIsOptional, end, repeats, call }: ToolCallLayout): Counts | null {
    if (this.#places.length === 0 && !this.#hasTexts) return null;
    const hasNumber = call.kind === 'named' && call.number !== null;
    const calls: CountedCalls = {
      open: openIsOptional ? '' : open.trim(),
      end: end.trim(),
      repeats: repeats === 'calls',
      afterName: hasNumber ? call.afterName : '',
      starts: this.#starts,
      ...(call.kind === 'parameters'
        ? { parameters: { close: call.close, textEnd: textEndOf(call) } }
        : {}),
    };
    return { places: this.#places, calls };
  }
}

function countedIfPossible(schema: Schema, path: string, parts: SchemaParts): CountedSchema | null {
  try {
    return countedSchema(schema, path, () => parts);
  } catch (error) {
    // More is asked of a whole object than of its members.
    if (error instanceof GrammarError) return null;
    throw error;
  }
}

function isOpen([min, max]: Bounds): boolean {
  return min === 0 && max === null;
}

/** The same place where others come before it. */
function moved({ text, object, array }: CountedPlace, offset: number): CountedPlace {
  const move = (place: number) => (place === NOTHING_COUNTED ? place : place + offset);
  return {
    ...(text === undefined ? {} : { text }),
    ...(object === undefined
      ? {}
      : {
          object: {
            ...object,
            members: object.members.map(([key, place]) => [key, move(place)] as const),
            rest: move(object.rest),
          },
        }),
    ...(array === undefined
      ? {}
      : { array: { first: array.first.map(move), rest: move(array.rest) } }),
  };
}
