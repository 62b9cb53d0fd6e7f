/**
 * Splits what a model thinks from what it says: `<think>...</think>`, at the start of its text. What
 * comes out depends on the text alone, never on how it is cut into pieces.
 */

const OPEN = '<think>';
const CLOSE = '</think>';

export interface ReasoningPiece {
  readonly type: 'reasoning' | 'content';
  readonly text: string;
}

/** Whether a chat template, or a prompt, has to do with thinking. */
export function knowsThinking(template: string): boolean {
  return template.includes(CLOSE) || template.includes(OPEN);
}

/** Whether the prompt ends within a thought: its template opened one for the model. */
export function opensThinking(prompt: string): boolean {
  return prompt.trimEnd().endsWith(OPEN);
}

export class ReasoningSplitter {
  #state: 'start' | 'reasoning' | 'after' | 'content';
  /** Text that is not decided on yet: part of a tag, or white space at a border. */
  #held = '';
  /** Of all text so far, in UTF-16 units, as the next two. */
  #length = 0;
  #thoughtStart: number;
  #thoughtEnd = Infinity;
  /** Where tokens begin that may be of the thought; null when all further ones are not. */
  #undecided: number[] | null = [];
  /** Nothing of the thought has come out: white space at its start is dropped. */
  #isFresh = true;

  /** @param isOpen the prompt has opened the thought already; see `opensThinking` */
  constructor(isOpen: boolean) {
    this.#state = isOpen ? 'reasoning' : 'start';
    this.#thoughtStart = isOpen ? 0 : Infinity;
  }

  /** All that follows is content. */
  get isOver(): boolean {
    return this.#state === 'content';
  }

  push(text: string): ReasoningPiece[] {
    this.#held += text;
    this.#length += text.length;
    const pieces: ReasoningPiece[] = [];
    while (this.#advance(pieces));
    return pieces;
  }

  /** Ends the text. */
  flush(): ReasoningPiece[] {
    const text = this.#state === 'reasoning' ? this.#held.trimEnd() : this.#held;
    const isLayout = this.#state === 'after' || text === '';
    this.#held = '';
    const type = this.#state === 'reasoning' ? 'reasoning' : 'content';
    return isLayout ? [] : [{ type, text }];
  }

  /**
   * Tokens of the thought are those that begin between its tags, as vLLM counts them.
   * @param offsets where in the text further tokens begin, in order; some of the text may yet come
   * @returns how many more tokens are known to be of the thought
   */
  countTokens(offsets: readonly number[]): number {
    if (this.#undecided === null) return 0;
    const isOver = this.#state === 'after' || this.#state === 'content';
    const end = isOver ? this.#thoughtEnd : this.#position;
    const all = [...this.#undecided, ...offsets];
    this.#undecided = isOver ? null : all.filter((offset) => offset >= end);
    return all.filter((offset) => offset >= this.#thoughtStart && offset < end).length;
  }

  /** Where the held text begins. */
  get #position(): number {
    return this.#length - this.#held.length;
  }

  /** Moves on in the held text as far as it goes. @returns whether there may be more to do */
  #advance(pieces: ReasoningPiece[]): boolean {
    switch (this.#state) {
      case 'start':
        return this.#start();
      case 'reasoning':
        return this.#reason(pieces);
      case 'after':
        this.#held = this.#held.trimStart();
        if (this.#held !== '') this.#state = 'content';
        return this.#held !== '';
      case 'content':
        if (this.#held !== '') pieces.push({ type: 'content', text: this.#held });
        this.#held = '';
        return false;
    }
  }

  #start(): boolean {
    const text = this.#held.trimStart();
    if (text.startsWith(OPEN)) {
      this.#held = text.slice(OPEN.length);
      this.#thoughtStart = this.#position;
      this.#state = 'reasoning';
      return true;
    }
    if (OPEN.startsWith(text)) return false;
    this.#state = 'content';
    return true;
  }

  #reason(pieces: ReasoningPiece[]): boolean {
    if (this.#isFresh) this.#held = this.#held.trimStart();
    const end = this.#held.indexOf(CLOSE);
    const isOver = end !== -1;
    if (isOver) this.#thoughtEnd = this.#position + end;
    const thought = this.#held.slice(0, isOver ? end : this.#held.length - tagStart(this.#held));
    // White space may turn out to be the thought's end.
    const text = thought.trimEnd();
    if (text !== '') {
      pieces.push({ type: 'reasoning', text });
      this.#isFresh = false;
    }
    this.#held = isOver ? this.#held.slice(end + CLOSE.length) : this.#held.slice(text.length);
    if (isOver) this.#state = 'after';
    return isOver;
  }
}

/** How many of the last characters may be the beginning of the closing tag. */
function tagStart(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(CLOSE.slice(0, length))) return length;
  }
  return 0;
}
