/**
 * JSON text of objects that are sent again and again and differ in a value or two. The rest is
 * serialized only once: for a streamed token that saves most of its chunk's cost.
 */
import { randomUUID } from 'node:crypto';
import type { JsonObject } from '../json-object.ts';

/** A JSON object that is text already. */
export class WrittenJson {
  readonly text: string;
  /** The object's own field, if it has one. */
  readonly type: unknown;

  constructor(text: string, type: unknown) {
    this.text = text;
    this.type = type;
  }
}

/** Object to send, or its text. */
export type Sendable = JsonObject | WrittenJson;

export function toJson(object: Sendable): string {
  return object instanceof WrittenJson ? object.text : JSON.stringify(object);
}

/**
 * @param make the object for given values, each of them a value of it, once or more often
 * @returns the same object's text, character by character as JSON.stringify has it
 */
export function jsonWriter<Values extends readonly (string | number)[]>(
  make: (...values: Values) => JsonObject,
): (...values: Values) => WrittenJson {
  const holes = Array.from({ length: make.length }, () => randomUUID());
  const object = make(...(holes as unknown as Values));
  const text = JSON.stringify(object);
  // Ids are random, so no other text in the object can look like a hole.
  const order = holes.flatMap((hole, value) =>
    Array.from(text.matchAll(new RegExp(`"${hole}"`, 'g')), ({ index: at }) => ({ value, at })),
  );
  order.sort((a, b) => a.at - b.at);
  const between: string[] = [];
  let end = 0;
  for (const { value, at } of order) {
    between.push(text.slice(end, at));
    end = at + `"${holes[value]}"`.length;
  }
  const last = text.slice(end);
  return (...values) => {
    let written = '';
    for (let place = 0; place < order.length; place++) {
      written += between[place];
      written += JSON.stringify(values[order[place]?.value ?? 0]);
    }
    return new WrittenJson(written + last, object['type']);
  };
}
