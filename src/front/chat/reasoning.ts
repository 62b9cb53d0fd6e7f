/**
 * Splits what a model thinks from what it says: a thought is at the start of its text. What comes out
 * depends on the text alone, never on how it is cut into pieces.
 */
import type { ReasoningFormat, ThoughtPlace } from './reasoning-formats.ts';
import { ThoughtTokens } from './thought-tokens.ts';
import { isSpace } from '../tool-calls/characters.ts';

export interface ReasoningPiece {
  readonly type: 'reasoning' | 'content';
  readonly text: string;
}

export class ReasoningSplitter {
  readonly #open: string;
  readonly #close: string;
  readonly #answer: ReasoningFormat['answer'];
  #state: ThoughtPlace | 'content';
  /** White space that may be at the border of a thought. */
  #space = '';
  /** The beginning of a marker. */
  #marker = '';
  /** Length of all text so far, in UTF-16 units. */
  #length = 0;
  /** Nothing has come out: white space at the start of a thought is dropped. */
  #isFresh = true;
  #tokens: ThoughtTokens | null = new ThoughtTokens();
  #pieces: ReasoningPiece[] = [];

  /** @param place where the prompt has left the text */
  constructor(format: ReasoningFormat, place: ThoughtPlace) {
    this.#open = format.open.trim();
    this.#close = format.close;
    this.#answer = format.answer;
    this.#state = place;
    if (place === 'within') this.#tokens?.begin(0);
  }

  /** All that follows is content. */
  get isOver(): boolean {
    return this.#state === 'content' && this.#answer.close === '';
  }

  push(text: string): ReasoningPiece[] {
    let at = 0;
    for (; at < text.length && !this.isOver; at++) {
      this.#length++;
      this.#read(text.charAt(at));
    }
    this.#give('content', text.slice(at));
    return this.#takePieces();
  }

  /** Ends the text. */
  flush(): ReasoningPiece[] {
    const isThought = this.#state === 'within';
    const isLayout = this.#marker === '' && (isThought || this.#state === 'after');
    if (!isLayout) this.#give(isThought ? 'reasoning' : 'content', this.#takeHeld());
    return this.#takePieces();
  }

  /**
   * @param offsets where in the text further tokens begin, in order; some of the text may yet come
   * @returns how many more tokens are known to be of the thought
   */
  countTokens(offsets: readonly number[]): number {
    if (this.#tokens === null) return 0;
    const isOver = this.#state === 'after' || this.#state === 'content';
    const held = this.#space.length + this.#marker.length;
    const count = this.#tokens.count(offsets, isOver ? Infinity : this.#length - held);
    if (isOver) this.#tokens = null;
    return count;
  }

  #read(character: string): void {
    switch (this.#state) {
      case 'before':
        this.#beforeText(character, [this.#open, this.#answer.open]);
        break;
      case 'within':
        this.#inText(character, this.#close, 'reasoning');
        break;
      case 'after':
        this.#beforeText(character, [this.#answer.open]);
        break;
      case 'content':
        this.#inText(character, this.#answer.close, 'content');
        break;
    }
  }

  /** Whether one of the markers comes, or content. */
  #beforeText(character: string, markers: readonly string[]): void {
    if (this.#marker === '' && isSpace(character)) {
      this.#space += character;
      return;
    }
    this.#marker += character;
    const text = this.#marker;
    if (!markers.some((marker) => marker.startsWith(text))) {
      // White space after a thought is layout.
      if (this.#state === 'after') this.#space = '';
      this.#state = 'content';
      const held = this.#takeHeld();
      this.#isFresh = false;
      if (this.#answer.close === '') this.#give('content', held);
      else for (const each of held.split('')) this.#read(each);
    } else if (markers.includes(text)) {
      const isThought = text === this.#open && this.#state === 'before';
      this.#takeHeld();
      this.#state = isThought ? 'within' : 'content';
      if (isThought) this.#tokens?.begin(this.#length);
      this.#isFresh = true;
    }
  }

  /** Text up to a marker. */
  #inText(character: string, end: string, type: ReasoningPiece['type']): void {
    if (character === end[this.#marker.length]) {
      this.#marker += character;
      if (this.#marker !== end) return;
      this.#takeHeld();
      if (type === 'reasoning') {
        this.#tokens?.end(this.#length - end.length);
        this.#state = 'after';
      }
    } else if (this.#marker !== '') {
      // No marker can begin within the part of it that was read.
      this.#give(type, this.#takeHeld());
      this.#inText(character, end, type);
    } else if (isSpace(character)) {
      if (!this.#isFresh) this.#space += character;
    } else this.#give(type, this.#takeHeld() + character);
  }

  #takeHeld(): string {
    const held = this.#space + this.#marker;
    this.#space = '';
    this.#marker = '';
    return held;
  }

  #give(type: ReasoningPiece['type'], text: string): void {
    if (text === '') return;
    this.#isFresh = false;
    const last = this.#pieces.at(-1);
    if (last?.type !== type) this.#pieces.push({ type, text });
    else this.#pieces[this.#pieces.length - 1] = { type, text: last.text + text };
  }

  #takePieces(): ReasoningPiece[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }
}
