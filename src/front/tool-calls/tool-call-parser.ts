/**
 * Finds tool calls in a text that grows piece by piece. The result depends on the text alone, never on
 * how it is cut. If a call turns out to be none, its text is not lost: what was not yet sent comes as
 * content. If the token limit cuts a call short, its arguments so far are reported.
 */
import type { ToolCallLayout } from '../../grammar/tool-call-layout.ts';
import { type CallSink, readCalls } from './call-reader.ts';
import { Characters, isSpace, NoCallError, type Steps } from './characters.ts';

export type ToolCallEvent =
  | { readonly type: 'content'; readonly text: string }
  /** A call begins; its arguments follow. */
  | { readonly type: 'call'; readonly index: number; readonly name: string }
  | { readonly type: 'arguments'; readonly index: number; readonly text: string }
  /**
   * The call is broken. `whole` is all of its text; `rest` the part not yet sent: all, if the call has
   * not begun, otherwise what follows the arguments sent so far.
   */
  | {
      readonly type: 'broken';
      /** Null if the call has not begun. */
      readonly index: number | null;
      readonly whole: string;
      readonly rest: string;
    }
  /** The text ended within the call, of which `whole` is all. */
  | { readonly type: 'cut'; readonly whole: string };

/** Tools that the model may call. */
export interface CallableTools {
  /** Names that a call without markup may have, with their arguments' schemas: other JSON may look like one. */
  readonly known: ReadonlyMap<string, unknown>;
  /** Names that must not be called, whatever they stand in. */
  readonly withheld: ReadonlySet<string>;
}

/** Against a model that calls tools without end: further ones are text. */
const MAX_CALLS = 256;

export class ToolCallParser implements CallSink {
  readonly #layout: ToolCallLayout;
  readonly #opener: string;
  readonly #tools: CallableTools;
  /** Reads what an opener has begun; null within text. */
  #steps: Steps<void> | null = null;
  #characters = new Characters();
  /** Text of a possible opener, and white space before it. */
  #held = '';
  /** How much of the opener has been read. */
  #matched = 0;
  /** Text read since the opener or since the last complete call. */
  #raw = '';
  /** Start in `#raw` of the part that was not yet sent. */
  #restStart = 0;
  #callIndex: number | null = null;
  #numCalls = 0;
  #numWhole = 0;
  /** Nothing but white space so far: where an opener may be left out. */
  #isAtStart = true;
  /** Whether the calls stand in the format's markup. */
  #isMarked = false;
  #events: ToolCallEvent[] = [];

  constructor(layout: ToolCallLayout, tools: CallableTools) {
    this.#layout = layout;
    this.#opener = layout.open.trim();
    this.#tools = tools;
  }

  /** Calls that are whole. */
  get numWhole(): number {
    return this.#numWhole;
  }

  push(text: string): ToolCallEvent[] {
    // By UTF-16 units: a pair may be cut in two.
    for (let index = 0; index < text.length; index++) this.#read(text.charAt(index));
    return this.#takeEvents();
  }

  /** Ends the text. @param isCut by the limit of tokens, and not by the model */
  flush(isCut: boolean): ToolCallEvent[] {
    if (isCut && this.#callIndex !== null) {
      this.#events.push({ type: 'cut', whole: this.#raw });
    } else if (isCut && this.#numCalls > 0 && (this.#steps !== null || this.#matched > 0)) {
      // Markup between calls, or of one whose name has not come.
      this.#held = '';
    } else if (this.#steps !== null) this.#break();
    // White space around calls is layout.
    if (this.#held.trim() !== '' || this.#numCalls === 0) this.#content(this.#held);
    this.#held = '';
    return this.#takeEvents();
  }

  isCallable(name: string): boolean {
    // A call of an unknown tool is passed on: the client reports to the model that there is none, as
    // with other servers.
    const { known, withheld } = this.#tools;
    return (this.#isMarked ? !withheld.has(name) : known.has(name)) && this.#numCalls < MAX_CALLS;
  }

  parametersOf(name: string): unknown {
    return this.#tools.known.get(name);
  }

  name(name: string): void {
    this.#callIndex = this.#numCalls++;
    this.#restStart = this.#raw.length;
    this.#events.push({ type: 'call', index: this.#callIndex, name });
  }

  arguments(text: string): void {
    const index = this.#callIndex;
    if (index === null || text === '') return;
    this.#restStart = this.#raw.length;
    const last = this.#events.at(-1);
    if (last?.type === 'arguments' && last.index === index) {
      this.#events[this.#events.length - 1] = { ...last, text: last.text + text };
    } else this.#events.push({ type: 'arguments', index, text });
  }

  done(): void {
    this.#numWhole++;
    this.#callIndex = null;
    this.ended();
  }

  ended(): void {
    this.#raw = '';
    this.#restStart = 0;
  }

  #read(character: string): void {
    if (this.#steps === null) this.#inText(character);
    else this.#inCalls(this.#steps, character);
  }

  #inText(character: string): void {
    const { openIsOptional, begin } = this.#layout;
    const isBare = openIsOptional && this.#isAtStart && this.#matched === 0;
    if (isBare && character === (begin[0] ?? '{')) {
      this.#start(false);
      this.#read(character);
      return;
    }
    const mayOpen = !openIsOptional || this.#isAtStart;
    if (mayOpen && character === this.#opener[this.#matched]) {
      this.#held += character;
      if (++this.#matched === this.#opener.length) this.#start(true);
      return;
    }
    if (this.#matched > 0) {
      // No opener can begin within the part of it that was read: each starts with a character of
      // its own.
      this.#content(this.#held);
      this.#held = '';
      this.#matched = 0;
      this.#isAtStart = false;
      this.#inText(character);
      return;
    }
    this.#held += character;
    if (isSpace(character)) return;
    this.#isAtStart = false;
    this.#content(this.#held);
    this.#held = '';
  }

  /** @param isMarked whether the opener is there */
  #start(isMarked: boolean): void {
    this.#raw = this.#held;
    this.#restStart = 0;
    this.#held = '';
    this.#matched = 0;
    this.#isAtStart = false;
    this.#isMarked = isMarked;
    this.#characters = new Characters();
    this.#steps = readCalls(this.#layout, this.#characters, this);
    // To where it awaits its first character.
    this.#steps.next('');
  }

  #inCalls(steps: Steps<void>, character: string): void {
    this.#raw += character;
    try {
      const { done } = steps.next(character);
      if (done !== true) return;
    } catch (error) {
      if (!(error instanceof NoCallError)) throw error;
      // The character is none of the call's, and may open another.
      const isFirst = this.#raw.length === 1;
      if (!isFirst) this.#raw = this.#raw.slice(0, -1);
      this.#break();
      if (!isFirst) this.#read(character);
      return;
    }
    const next = this.#characters.takePutBack();
    this.#steps = null;
    this.#raw = '';
    if (next !== null) this.#read(next);
  }

  /** Gives up on a call: the text that was read is none. */
  #break(): void {
    const whole = this.#raw;
    const rest = whole.slice(this.#restStart);
    const index = this.#callIndex;
    // White space after whole calls is layout.
    if (index !== null || whole.trim() !== '' || this.#numCalls === 0) {
      this.#events.push({ type: 'broken', index, whole, rest });
    }
    this.#callIndex = null;
    this.#steps = null;
    this.ended();
  }

  #content(text: string): void {
    if (text === '') return;
    const last = this.#events.at(-1);
    if (last?.type === 'content') {
      this.#events[this.#events.length - 1] = { type: 'content', text: last.text + text };
    } else {
      this.#events.push({ type: 'content', text });
    }
  }

  #takeEvents(): ToolCallEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}
