/** Follows a JSON text of a grammar, byte by byte, and counts the characters of its bounded strings. */
import { CallSearch, type CallState } from './call-search.ts';
import {
  type Bounds,
  type CountedCalls,
  type CountedPlace,
  type Counts,
  NOTHING_COUNTED,
} from './counted-text.ts';
import { type BeforeState, TextBefore } from './text-before.ts';
import { TextEnd } from './text-end.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const UNICODE_ESCAPE = 0x75;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const COLON = 0x3a;
const COMMA = 0x2c;

/** State of a string's escape: a backslash is there; or so many hexadecimal digits are to come. */
export type Escape = 'none' | 'begun' | 1 | 2 | 3 | 4;

const AFTER_DIGIT = { 4: 3, 3: 2, 2: 1, 1: 'none', none: 'none' } as const;

const NO_MEMBERS: ReadonlyMap<string, number> = new Map();

/** An object or array that is not closed yet. */
interface Frame {
  readonly isObject: boolean;
  readonly place: CountedPlace | null;
  /** Index of an array's item. */
  readonly index: number;
  readonly outer: Frame | null;
}

/** How far a text has come. Copies share nothing that changes. */
export class Position implements BeforeState, CallState {
  part: BeforeState['part'] = 'json';
  numMatched = 0;
  callPart: CallState['callPart'] = 'arguments';
  search = 0;
  argumentsPlace = NOTHING_COUNTED;
  start = 0;
  frame: Frame | null = null;
  /** Where the next value stands. */
  place: CountedPlace | null = null;
  /** Part of the JSON that the text is within. */
  within: 'structure' | 'key' | 'string' = 'structure';
  /** The next string is a key. */
  isKeyNext = false;
  /** Bytes of the string so far, as far as places depend on it. */
  key = '';
  escape: Escape = 'none';
  /** Characters of the string so far. */
  numCharacters = 0;
  min = 0;
  max = Infinity;
  isAny = false;

  copyFrom(other: Position): this {
    this.part = other.part;
    this.numMatched = other.numMatched;
    this.callPart = other.callPart;
    this.search = other.search;
    this.argumentsPlace = other.argumentsPlace;
    this.start = other.start;
    this.frame = other.frame;
    this.place = other.place;
    this.within = other.within;
    this.isKeyNext = other.isKeyNext;
    this.key = other.key;
    this.escape = other.escape;
    this.numCharacters = other.numCharacters;
    this.min = other.min;
    this.max = other.max;
    this.isAny = other.isAny;
    return this;
  }

  /** Characters that the string may yet have. Infinite outside of bounded strings. */
  get left(): number {
    return this.within === 'structure' ? Infinity : this.max - this.numCharacters;
  }
}

/**
 * Relies on the text to be one of the grammar: JSON with nothing but ", " and ": " between its parts,
 * without escaped surrogates. Of any other text only the bounds are not told right.
 */
export class CountedWalk {
  readonly #places: readonly CountedPlace[];
  readonly #before: TextBefore;
  readonly #calls: CallSearch | null;
  /** Whether arguments of calls stand one by one. */
  readonly #areSingle: boolean;
  /** After texts that are written as they are; null where none are. */
  readonly textEnd: TextEnd | null;
  /** Bytes one of which is in every token that reaches from elsewhere into what is counted. */
  readonly entering: readonly number[];
  /** By place. Keys as their UTF-8 bytes are, a character each. */
  readonly #members = new Map<CountedPlace, ReadonlyMap<string, number>>();

  constructor({ places, thought, calls }: Counts) {
    this.#places = places;
    this.#before = new TextBefore(thought);
    this.#calls = calls === undefined ? null : new CallSearch(calls);
    const { textEnd = '' } = calls?.parameters ?? {};
    this.textEnd = textEnd === '' ? null : new TextEnd(textEnd);
    this.#areSingle = calls?.parameters !== undefined;
    this.entering = enteringOf(calls);
    for (const place of places) {
      if (place.object === undefined) continue;
      const members = place.object.members.map(([key, value]) => [latin1(key), value] as const);
      this.#members.set(place, new Map(members));
    }
  }

  start(): Position {
    const position = new Position();
    position.part = this.#before.start.part;
    if (this.#calls === null) position.place = this.#at(0);
    else Object.assign(position, this.#calls.start);
    return position;
  }

  /** Whether some of so many bytes may be the JSON's. */
  mayReachJson({ part, callPart }: Position, numBytes: number): boolean {
    if (this.#calls === null || part !== 'json' || callPart !== 'text') return true;
    return numBytes > this.#calls.shortest;
  }

  /** Whether the text is within one that is written as it is. */
  isInTextValue({ part, callPart }: Position): boolean {
    return part === 'json' && callPart === 'text value';
  }

  /** Takes bytes into account. Returns whether every string is within its bounds. */
  advance(position: Position, bytes: Uint8Array): boolean {
    for (const byte of bytes) {
      if (position.part === 'json') {
        if (!this.#step(position, byte)) return false;
        continue;
      }
      let isWithin = true;
      this.#before.step(position, byte, (found) => {
        isWithin &&= this.#step(position, found);
      });
      if (!isWithin) return false;
    }
    return true;
  }

  #step(position: Position, byte: number): boolean {
    if (this.#calls === null) return this.#inJson(position, byte);
    if (position.callPart === 'text value' && this.textEnd !== null) {
      const step = this.textEnd.step(position, byte);
      if (step === 'ended') this.#calls.leave(position);
      return step !== 'out of bounds';
    }
    if (position.callPart !== 'arguments') return this.#search(this.#calls, position, byte);
    if (this.#areSingle && isOutside(position) && !isOfValue(byte)) {
      // Numbers and words end with what follows them.
      this.#calls.leave(position);
      return this.#search(this.#calls, position, byte);
    }
    const isWithin = this.#inJson(position, byte);
    if (isOutside(position) && isLast(byte)) this.#calls.leave(position);
    return isWithin;
  }

  #search(calls: CallSearch, position: Position, byte: number): true {
    calls.step(position, byte);
    position.place = this.#at(position.argumentsPlace);
    return true;
  }

  #inJson(position: Position, byte: number): boolean {
    if (position.within !== 'structure') return this.#inString(position, byte);
    const { frame } = position;
    switch (byte) {
      case OPEN_OBJECT:
      case OPEN_ARRAY: {
        const isObject = byte === OPEN_OBJECT;
        position.frame = { isObject, place: position.place, index: 0, outer: frame };
        position.isKeyNext = isObject;
        if (!isObject) position.place = this.#item(position.frame);
        break;
      }
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        position.frame = frame?.outer ?? null;
        position.isKeyNext = false;
        break;
      case COLON:
        position.isKeyNext = false;
        break;
      case COMMA:
        if (frame === null) break;
        position.isKeyNext = frame.isObject;
        if (!frame.isObject) {
          position.frame = { ...frame, index: frame.index + 1 };
          position.place = this.#item(position.frame);
        }
        break;
      case QUOTE:
        this.#open(position);
        break;
    }
    return true;
  }

  #open(position: Position): void {
    const { isKeyNext, frame, place } = position;
    const bounds: Bounds | undefined = isKeyNext ? frame?.place?.object?.keys : place?.text;
    position.within = isKeyNext ? 'key' : 'string';
    position.key = '';
    position.numCharacters = 0;
    position.min = bounds?.[0] ?? 0;
    position.max = bounds?.[1] ?? Infinity;
  }

  #inString(position: Position, byte: number): boolean {
    if (position.escape !== 'none') {
      position.escape = afterEscaped(position.escape, byte);
    } else if (byte === QUOTE) {
      return this.#close(position);
    } else {
      // Each character has one byte that does not continue another.
      if ((byte & 0xc0) !== 0x80 && ++position.numCharacters > position.max) return false;
      if (byte === BACKSLASH) position.escape = 'begun';
    }
    const { within, frame } = position;
    if (within === 'key' && this.#membersOf(frame).size > 0) {
      position.key += String.fromCharCode(byte);
    }
    return true;
  }

  #close(position: Position): boolean {
    const { frame, within, key } = position;
    position.within = 'structure';
    if (within === 'key') {
      const rest = frame?.place?.object?.rest ?? NOTHING_COUNTED;
      position.place = this.#at(this.#membersOf(frame).get(key) ?? rest);
      position.key = '';
    }
    return position.numCharacters >= position.min;
  }

  #membersOf(frame: Frame | null): ReadonlyMap<string, number> {
    return (frame?.place && this.#members.get(frame.place)) ?? NO_MEMBERS;
  }

  #item({ place, index }: Frame): CountedPlace | null {
    const array = place?.array;
    return array === undefined ? null : this.#at(array.first[index] ?? array.rest);
  }

  #at(index: number): CountedPlace | null {
    return this.#places[index] ?? null;
  }
}

function isOutside({ frame, within }: Position): boolean {
  return frame === null && within === 'structure';
}

/** Whether a value of JSON, or a word of Python, may begin with it or go on. */
function isOfValue(byte: number): boolean {
  return /["[{\w.+-]/.test(String.fromCharCode(byte));
}

/** Whether a value may end with it. Others than objects, lists and strings end with what follows them. */
function isLast(byte: number): boolean {
  return byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte === QUOTE;
}

function afterEscaped(escape: Escape, byte: number): Escape {
  if (escape === 'begun') return byte === UNICODE_ESCAPE ? 4 : 'none';
  return AFTER_DIGIT[escape];
}

function enteringOf(calls: CountedCalls | undefined): number[] {
  const bytes = new Set([QUOTE]);
  for (const { parameters = [] } of calls?.starts ?? []) {
    for (const { text } of parameters) bytes.add(Buffer.from(text).at(-1) ?? QUOTE);
  }
  return [...bytes];
}

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1');
}
