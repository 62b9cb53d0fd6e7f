/** A text, and what is known of its tokens: where they are, and how likely they were. */
import type { TokenChoice } from '../../api/completions.ts';

/** From where to where in the text. */
export interface MarkedToken extends Omit<TokenChoice, 'offset'> {
  readonly start: number;
  readonly end: number;
}

export interface MarkedText {
  readonly text: string;
  /** In order; parts of the text may have none. */
  readonly tokens: readonly MarkedToken[];
}

export const EMPTY: MarkedText = { text: '', tokens: [] };

/** After an edit: of what is changed, nothing is known any more, nor of what depends on it. */
export function edited({ text, tokens }: MarkedText, next: string): MarkedText {
  let same = 0;
  while (same < text.length && same < next.length && text[same] === next[same]) same++;
  return { text: next, tokens: tokens.filter(({ end }) => end <= same) };
}

/** The text up to a place. */
export function cut({ text, tokens }: MarkedText, end: number): MarkedText {
  return { text: text.slice(0, end), tokens: tokens.filter((token) => token.end <= end) };
}

/** An answer that grows piece by piece, at the end of a text. */
export class GrowingText {
  readonly #base: MarkedText;
  /** Where the answer begins; an echo begins with the prompt. */
  readonly #start: number;
  #text = '';
  #choices: TokenChoice[] = [];

  constructor(base: MarkedText, start: number) {
    this.#base = base;
    this.#start = start;
  }

  add(text: string, tokens: readonly TokenChoice[]): void {
    this.#text += text;
    this.#choices.push(...tokens);
  }

  get marked(): MarkedText {
    const before = this.#base.text.slice(0, this.#start);
    const known = this.#base.tokens.filter(({ end }) => end <= this.#start);
    const text = before + this.#text;
    return { text, tokens: [...known, ...placed(this.#choices, this.#start, text.length)] };
  }
}

/** Tokens that are a part of a character have no width; the last of them has all of it. */
function placed(choices: readonly TokenChoice[], start: number, end: number): MarkedToken[] {
  return choices.flatMap(({ offset, ...choice }, index) => {
    const from = Math.min(start + offset, end);
    const to = Math.min(start + (choices[index + 1]?.offset ?? Infinity), end);
    return to > from ? [{ ...choice, start: from, end: to }] : [];
  });
}

/** The token that a cursor stands in, or after. */
export function tokenAt({ tokens }: MarkedText, position: number): MarkedToken | null {
  return tokens.find(({ start, end }) => start < position && position <= end) ?? null;
}
