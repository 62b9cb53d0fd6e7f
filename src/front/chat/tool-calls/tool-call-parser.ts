/**
 * Finds tool calls in a text that grows piece by piece. What comes out depends on the text alone,
 * never on how it is cut. A call that turns out to be none, or is cut short, is never lost: what was
 * not given out of it comes as content.
 */
import { CallObject } from './call-object.ts';
import type { ToolCallFormat } from './formats.ts';

export type ToolCallEvent =
  | { readonly type: 'content'; readonly text: string }
  /** A call begins; its arguments follow. */
  | { readonly type: 'call'; readonly index: number; readonly name: string }
  | { readonly type: 'arguments'; readonly index: number; readonly text: string }
  /**
   * The call is broken. `whole` is all of its text; `rest` what has not come out: all, if the call
   * has not begun, else what followed the arguments given so far.
   */
  | {
      readonly type: 'broken';
      /** Null if the call has not begun. */
      readonly index: number | null;
      readonly whole: string;
      readonly rest: string;
    };

type State = 'text' | 'list-start' | 'before-call' | 'call' | 'after-call' | 'list-end';

const SPACE = /^\s$/;

export class ToolCallParser {
  readonly #format: ToolCallFormat;
  readonly #toolNames: ReadonlySet<string>;
  #state: State = 'text';
  /** Text of a possible opener, and white space before it. */
  #held = '';
  /** How much of the opener, or of the list's start or end, has been read. */
  #matched = 0;
  /** What was read since the opener or since the last whole call. */
  #raw = '';
  /** Where in `#raw` what has not come out yet begins. */
  #restStart = 0;
  #call: CallObject | null = null;
  #callIndex: number | null = null;
  #numCalls = 0;
  #numWhole = 0;
  /** Nothing but white space so far: where an opener may be left out. */
  #isAtStart = true;
  #events: ToolCallEvent[] = [];

  constructor(format: ToolCallFormat, toolNames: ReadonlySet<string>) {
    this.#format = format;
    this.#toolNames = toolNames;
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

  /** Ends the text. */
  flush(): ToolCallEvent[] {
    const isBetween = this.#state === 'after-call' && this.#format.list.end === '';
    if (this.#state !== 'text' && !isBetween) this.#break();
    // White space around calls is layout.
    if (this.#held.trim() !== '' || this.#numCalls === 0) this.#content(this.#held);
    this.#held = '';
    return this.#takeEvents();
  }

  #read(character: string): void {
    switch (this.#state) {
      case 'text':
        this.#inText(character);
        break;
      case 'list-start':
        this.#inMarker(character, this.#format.list.start, 'before-call');
        break;
      case 'list-end':
        this.#inMarker(character, this.#format.list.end, 'text');
        break;
      case 'before-call':
        this.#raw += character;
        if (!SPACE.test(character)) this.#startCall(character);
        break;
      case 'call':
        this.#raw += character;
        this.#inCall(character);
        break;
      case 'after-call':
        this.#afterCall(character);
        break;
    }
  }

  #inText(character: string): void {
    const { open, openIsOptional } = this.#format;
    const isBare = openIsOptional && this.#isAtStart && this.#matched === 0;
    if (isBare && character === '{') {
      this.#raw = this.#held;
      this.#held = '';
      this.#isAtStart = false;
      this.#restStart = 0;
      this.#state = 'before-call';
      this.#read(character);
      return;
    }
    const mayOpen = !openIsOptional || this.#isAtStart;
    if (mayOpen && character === open[this.#matched]) {
      this.#held += character;
      if (++this.#matched === open.length) this.#opened();
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
    if (SPACE.test(character)) return;
    this.#isAtStart = false;
    this.#content(this.#held);
    this.#held = '';
  }

  #opened(): void {
    this.#raw = this.#held;
    this.#restStart = 0;
    this.#held = '';
    this.#matched = 0;
    this.#isAtStart = false;
    this.#state = this.#format.list.start === '' ? 'before-call' : 'list-start';
  }

  #inMarker(character: string, marker: string, next: State): void {
    this.#raw += character;
    if (this.#matched === 0 && SPACE.test(character)) return;
    if (character !== marker[this.#matched]) {
      this.#break();
      return;
    }
    if (++this.#matched < marker.length) return;
    this.#matched = 0;
    this.#state = next;
    if (next === 'text') this.#raw = '';
  }

  #startCall(character: string): void {
    this.#call = new CallObject(this.#toolNames);
    this.#callIndex = null;
    this.#state = 'call';
    this.#inCall(character);
  }

  #inCall(character: string): void {
    const progress = this.#call?.push(character);
    if (progress === undefined || progress.state === 'bad') {
      this.#break();
      return;
    }
    if (progress.name !== undefined) {
      this.#callIndex = this.#numCalls++;
      this.#events.push({ type: 'call', index: this.#callIndex, name: progress.name });
    }
    if (this.#callIndex !== null) {
      this.#restStart = this.#raw.length;
      if (progress.arguments !== '') {
        this.#addArguments(this.#callIndex, progress.arguments);
      }
    }
    if (progress.state !== 'done') return;
    this.#numWhole++;
    this.#call = null;
    this.#callIndex = null;
    this.#raw = '';
    this.#restStart = 0;
    this.#state = 'after-call';
  }

  #afterCall(character: string): void {
    const { separator, end } = this.#format.list;
    const isSpace = SPACE.test(character);
    if (end !== '' && !isSpace && character !== separator) {
      this.#state = 'list-end';
      this.#read(character);
      return;
    }
    this.#raw += character;
    if (character === separator) this.#state = 'before-call';
    else if (!isSpace) this.#break();
  }

  /** What was read is no call after all. */
  #break(): void {
    const whole = this.#raw;
    const rest = whole.slice(this.#restStart);
    if (whole !== '') {
      this.#events.push({ type: 'broken', index: this.#callIndex, whole, rest });
    }
    this.#call = null;
    this.#callIndex = null;
    this.#raw = '';
    this.#restStart = 0;
    this.#matched = 0;
    this.#state = 'text';
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

  #addArguments(index: number, text: string): void {
    const last = this.#events.at(-1);
    if (last?.type === 'arguments' && last.index === index) {
      this.#events[this.#events.length - 1] = { ...last, text: last.text + text };
    } else {
      this.#events.push({ type: 'arguments', index, text });
    }
  }

  #takeEvents(): ToolCallEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}
