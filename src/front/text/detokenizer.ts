/**
 * Turns the tokens of one completion into text as they come.
 *
 * vLLM and others decode a short window of tokens twice per token and take the difference
 * (`prefix_offset`, `read_offset`). That needs guesses: a window that ends in U+FFFD may be an
 * unfinished character or bytes that will never be one, and a window that starts in the prompt can
 * show its text. Here each token's characters or bytes are known (see token-pieces.ts), and the
 * platform's streaming UTF-8 decoder holds back exactly the bytes that may still become a
 * character.
 */
import { TextDecoder } from 'node:util';
import { isEmbedding } from '../../engine/prompt-embeddings.ts';
import type { TextTokenizer } from './tokenizer.ts';

export interface DetokenizerOptions {
  /** Leave special tokens out of the text. */
  readonly skipSpecialTokens: boolean;
  /**
   * Tokens that the text continues. They are never shown, but the first word of a continuation keeps
   * the space in front of it, while the first word of a text loses it (SentencePiece).
   */
  readonly promptTokenIds: Int32Array;
}

export class Detokenizer {
  readonly #tokenizer: TextTokenizer;
  readonly #skipSpecialTokens: boolean;
  readonly #utf8: TextDecoder;
  /** The last token was bytes, which may be part of a character. */
  #hasBytes = false;
  #numToStrip: number;

  constructor(tokenizer: TextTokenizer, options: DetokenizerOptions) {
    this.#tokenizer = tokenizer;
    this.#skipSpecialTokens = options.skipSpecialTokens;
    const { ignoreBOM, stripCount } = tokenizer.pieces;
    this.#utf8 = new TextDecoder('utf-8', { ignoreBOM });
    const continues = options.promptTokenIds.some((id) => this.isShown(id));
    this.#numToStrip = continues ? 0 : stripCount;
  }

  /** @returns the characters that these tokens complete; bytes of an unfinished one are held back. */
  push(tokenIds: Iterable<number>): string {
    let text = '';
    for (const id of tokenIds) {
      if (!this.isShown(id)) continue;
      const piece = this.#tokenizer.pieces.get(id);
      if (piece === undefined) continue;
      text +=
        typeof piece === 'string'
          ? this.#endBytes() + piece
          : this.#utf8.decode(piece, { stream: true });
      this.#hasBytes = typeof piece !== 'string';
    }
    return this.#strip(text);
  }

  /** Ends the text. @returns U+FFFD if it ends within a character, otherwise '' */
  flush(): string {
    return this.#strip(this.#endBytes());
  }

  /** U+FFFD if the last bytes are part of a character, otherwise ''. */
  #endBytes(): string {
    return this.#hasBytes ? this.#utf8.decode() : '';
  }

  /** Whether a token can add to the text. */
  isShown(id: number): boolean {
    return !isEmbedding(id) && !(this.#skipSpecialTokens && this.#tokenizer.isSpecial(id));
  }

  #strip(text: string): string {
    if (this.#numToStrip === 0) return text;
    let start = 0;
    while (this.#numToStrip > 0 && start < text.length) {
      const strips = text[start] === this.#tokenizer.pieces.stripContent;
      this.#numToStrip = strips ? this.#numToStrip - 1 : 0;
      if (strips) start++;
    }
    return text.slice(start);
  }
}
