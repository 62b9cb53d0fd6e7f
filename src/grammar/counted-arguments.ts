/** Strings in the arguments of tool calls whose characters are counted beside the grammar. */
import {
  type CallStart,
  type CountedCalls,
  type CountedPlace,
  type Counts,
  NOTHING_COUNTED,
} from './counted-text.ts';
import { countedSchema } from './schema-ebnf.ts';
import { SchemaParts } from './schema-parts.ts';
import { SchemaShapes } from './schema-shapes.ts';
import type { ToolCallLayout } from './tool-call-layout.ts';

export class CountedArguments {
  readonly #places: CountedPlace[] = [];
  readonly #starts: CallStart[] = [];
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

  /** Null when nothing is counted. */
  counts({ open, openIsOptional, end, repeats, call }: ToolCallLayout): Counts | null {
    if (this.#places.length === 0) return null;
    const hasNumber = call.kind === 'named' && call.number !== null;
    const calls: CountedCalls = {
      open: openIsOptional ? '' : open.trim(),
      end: end.trim(),
      repeats: repeats === 'calls',
      afterName: hasNumber ? call.afterName : '',
      starts: this.#starts,
    };
    return { places: this.#places, calls };
  }
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
