/** Aligns log-probabilities with the text: which token begins where. */
import type { Logprobs } from '../../engine/request.ts';
import { Detokenizer, type DetokenizerOptions } from '../text/detokenizer.ts';
import { tokenLogprobAt, type TokenLogprob } from './token-logprob.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';

/** Follows one text as its tokens come. */
export class LogprobAssembler {
  #entries: TokenLogprob[] = [];
  #textOffset = 0;

  /**
   * A token within a character, whose bytes came with the one before it, begins where the character
   * does.
   * @param logprobs of the token alone
   * @param piece the characters that the token completed
   */
  add(logprobs: Logprobs, piece: string, isShown: boolean): void {
    this.#entries.push(tokenLogprobAt(logprobs, 0, { textOffset: this.#textOffset, isShown }));
    this.#textOffset += countCharacters(piece);
  }

  /** @returns what was added since the last call */
  take(): TokenLogprob[] {
    const entries = this.#entries;
    this.#entries = [];
    return entries;
  }
}

/** @returns an entry for every token of the prompt but the first, placed in the prompt's text */
export function scorePrompt(
  logprobs: Logprobs,
  tokenizer: TextTokenizer,
  { promptTokenIds, skipSpecialTokens }: DetokenizerOptions,
): TokenLogprob[] {
  const detokenizer = new Detokenizer(tokenizer, {
    skipSpecialTokens,
    promptTokenIds: new Int32Array(),
  });
  const entries: TokenLogprob[] = [];
  let textOffset = 0;
  for (const [index, tokenId] of promptTokenIds.entries()) {
    if (index > 0) {
      const isShown = detokenizer.isShown(tokenId);
      entries.push(tokenLogprobAt(logprobs, index - 1, { textOffset, isShown }));
    }
    textOffset += countCharacters(detokenizer.push([tokenId]));
  }
  return entries;
}

/** In Unicode code points, as Python counts. */
export function countCharacters(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    const isTrailing = unit >= 0xdc00 && unit <= 0xdfff;
    if (!isTrailing) count++;
  }
  return count;
}
