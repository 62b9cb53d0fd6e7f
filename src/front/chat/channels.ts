/**
 * Reads Harmony, in which all that a model says is a message with a header: thoughts are in the
 * channel `analysis`, calls have a recipient, and all else is content. What comes out depends on the
 * text alone, never on how it is cut.
 */
import { ThoughtTokens } from './thought-tokens.ts';
import { isSpace } from '../tool-calls/characters.ts';
import { JsonScanner } from '../tool-calls/json-scanner.ts';
import type { CallableTools, ToolCallEvent } from '../tool-calls/tool-call-parser.ts';

export type ChannelEvent = ToolCallEvent | { readonly type: 'reasoning'; readonly text: string };

const ENDS = ['<|end|>', '<|call|>', '<|return|>'];
const MARKERS = ['<|start|>', '<|channel|>', '<|constrain|>', '<|message|>', ...ENDS];
const MAX_HEADER_LENGTH = 512;
const MAX_CALLS = 256;
/** A header without a channel so far. */
const HEADER_START = /^\s*(t|to|to=\S*\s*)?$/;
const RECIPIENT = /\bto=([^\s<]+)/;
const CHANNEL = /<\|channel\|>\s*(\w+)/;

type Body = 'reasoning' | 'content';

export class ChannelParser {
  readonly #tools: CallableTools | null;
  #state: 'header' | 'body' | 'call' | 'between' = 'header';
  #body: Body = 'content';
  #header = '';
  /** The beginning of a marker. */
  #marker = '';
  #length = 0;
  #scanner = new JsonScanner();
  /** Text of the call at hand, with its header. */
  #raw = '';
  /** The part of it that has not come out. */
  #rest = '';
  #callIndex: number | null = null;
  #hasArguments = false;
  #numCalls = 0;
  #numWhole = 0;
  /** Kinds of messages that there were: the next one of a kind begins on a line of its own. */
  readonly #told = new Set<Body>();
  #isNewMessage = false;
  readonly #tokens = new ThoughtTokens();
  #events: ChannelEvent[] = [];

  /**
   * @param tools null when calls are text
   * @param prompt may have begun the message
   */
  constructor(tools: CallableTools | null, prompt: string) {
    this.#tools = tools;
    const text = prompt.trimEnd();
    if (text.endsWith('<|message|>')) this.#startBody(CHANNEL.exec(text.slice(-64))?.[1]);
    else if (text.endsWith('<|channel|>')) this.#header = '<|channel|>';
  }

  /** Calls that are whole. */
  get numWhole(): number {
    return this.#numWhole;
  }

  /** As ReasoningSplitter.countTokens. */
  countTokens(offsets: readonly number[]): number {
    return this.#tokens.count(offsets, this.#length - this.#marker.length);
  }

  push(text: string): ChannelEvent[] {
    for (let index = 0; index < text.length; index++) {
      this.#length++;
      this.#read(text.charAt(index));
    }
    return this.#takeEvents();
  }

  /** Ends the text. @param isCut by the limit of tokens, and not by the model */
  flush(isCut: boolean): ChannelEvent[] {
    const held = this.#marker;
    this.#marker = '';
    if (isCut && this.#callIndex !== null) {
      this.#events.push({ type: 'cut', whole: this.#raw + held });
    } else if (this.#state === 'call') {
      this.#rest = held;
      this.#raw += held;
      if (held === '') this.#endMessage(0);
      else this.#break();
    } else if (this.#state === 'body') this.#give(this.#body, held);
    else if (this.#state === 'header' && !(isCut && this.#told.size > 0)) {
      // A role alone is nothing to tell.
      const isRole = /^\s*(assistant)?\s*$/.test(this.#header);
      if (!isRole || held !== '') this.#give('content', this.#header + held);
    }
    return this.#takeEvents();
  }

  #read(character: string): void {
    const longer = this.#marker + character;
    const fits = MARKERS.filter((marker) => marker.startsWith(longer));
    if (fits.length > 0) {
      this.#marker = fits[0] === longer ? '' : longer;
      if (fits[0] === longer) this.#onMarker(longer);
      return;
    }
    const held = this.#marker;
    this.#marker = '';
    for (let index = 0; index < held.length; index++) this.#onText(held.charAt(index));
    // Each marker starts with a character of its own.
    if (held === '') this.#onText(character);
    else this.#read(character);
  }

  #onMarker(marker: string): void {
    const isHeader = this.#state === 'header';
    if (isHeader && marker === '<|message|>') this.#endHeader();
    else if (isHeader && (marker === '<|channel|>' || marker === '<|constrain|>')) {
      this.#header += marker;
    } else if (marker === '<|constrain|>' || marker === '<|message|>') {
      for (let index = 0; index < marker.length; index++) this.#onText(marker.charAt(index));
    } else {
      this.#endMessage(marker.length);
      this.#state = ENDS.includes(marker) ? 'between' : 'header';
      this.#header = marker === '<|channel|>' ? marker : '';
    }
  }

  #onText(character: string): void {
    switch (this.#state) {
      case 'header': {
        const header = this.#header + character;
        this.#header = header;
        const isBare = !header.includes('<|') && !HEADER_START.test(header);
        const isFirst = this.#told.size === 0 && this.#numCalls === 0;
        if (header.length > MAX_HEADER_LENGTH || (isBare && isFirst)) {
          this.#startBody();
          this.#give('content', header);
        }
        break;
      }
      case 'body':
        this.#give(this.#body, character);
        break;
      case 'call':
        this.#inCall(character);
        break;
      case 'between':
        if (isSpace(character)) break;
        this.#startBody();
        this.#give('content', character);
        break;
    }
  }

  /** The header is whole: what kind of message it is. */
  #endHeader(): void {
    const header = this.#header;
    const recipient = RECIPIENT.exec(header)?.[1];
    const channel = CHANNEL.exec(header)?.[1];
    this.#header = '';
    const name = recipient?.replace(/^functions\./, '');
    const isCall = name !== undefined && (name !== recipient || this.#tools?.known.has(name));
    if (isCall !== true || this.#tools === null) {
      this.#startBody(channel);
      // Otherwise the recipient of the message would be lost.
      if (isCall === true) this.#give('content', `${header}<|message|>`);
      return;
    }
    this.#state = 'call';
    this.#raw = this.#rest = `${header}<|message|>`;
    if (this.#tools.withheld.has(name) || this.#numCalls === MAX_CALLS) {
      this.#break();
      return;
    }
    this.#scanner = new JsonScanner();
    this.#hasArguments = false;
    this.#callIndex = this.#numCalls++;
    this.#rest = '';
    this.#events.push({ type: 'call', index: this.#callIndex, name });
  }

  #inCall(character: string): void {
    this.#raw += character;
    if (!this.#hasArguments && isSpace(character)) return;
    const isPlace = this.#hasArguments || character === '{';
    this.#hasArguments = true;
    if (!isPlace || !this.#scanner.push(character)) {
      this.#rest = character;
      this.#break();
      return;
    }
    this.#giveArguments(character);
    if (this.#scanner.isDone) this.#endCall();
  }

  #endCall(): void {
    this.#numWhole++;
    this.#callIndex = null;
    this.#raw = '';
    this.#state = 'between';
  }

  /** @param length of the marker that ended it */
  #endMessage(length: number): void {
    if (this.#state === 'body' && this.#body === 'reasoning')
      this.#tokens.end(this.#length - length);
    // A header that breaks off is not lost, but for its role.
    if (this.#state === 'header' && this.#header.includes('<|'))
      this.#give('content', this.#header);
    if (this.#state !== 'call') return;
    if (this.#hasArguments) this.#break();
    else {
      // Models leave out the arguments of tools that take none.
      this.#giveArguments('{}');
      this.#endCall();
    }
  }

  #startBody(channel = 'final'): void {
    this.#state = 'body';
    this.#body = channel === 'analysis' ? 'reasoning' : 'content';
    this.#isNewMessage = this.#told.has(this.#body);
    if (this.#body === 'reasoning') this.#tokens.begin(this.#length);
  }

  /** Gives up on a call: the text that was read is none. */
  #break(): void {
    const event = {
      type: 'broken',
      index: this.#callIndex,
      whole: this.#raw,
      rest: this.#rest,
    } as const;
    this.#events.push(event);
    this.#callIndex = null;
    this.#raw = this.#rest = '';
    this.#startBody();
    this.#isNewMessage = false;
  }

  #giveArguments(text: string): void {
    const index = this.#callIndex ?? 0;
    const last = this.#events.at(-1);
    if (last?.type === 'arguments' && last.index === index) {
      this.#events[this.#events.length - 1] = { ...last, text: last.text + text };
    } else this.#events.push({ type: 'arguments', index, text });
  }

  #give(type: Body, text: string): void {
    if (text === '') return;
    const given = this.#isNewMessage ? `\n${text}` : text;
    this.#isNewMessage = false;
    this.#told.add(type);
    const last = this.#events.at(-1);
    if (last?.type === type) {
      this.#events[this.#events.length - 1] = { type, text: last.text + given };
    } else this.#events.push({ type, text: given });
  }

  #takeEvents(): ChannelEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}
