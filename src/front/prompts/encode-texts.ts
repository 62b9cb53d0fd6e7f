import type { Caller } from '../caller.ts';
import { inClientWords } from './prompt-length.ts';
import type { PromptEncoder, TextOptions } from './prompt-encoder.ts';

export interface ClientTextOptions extends Pick<TextOptions, 'maxTokens'> {
  /** The client's name for the texts, for errors. */
  readonly field: string;
  /** As in TextOptions; true if left out. */
  readonly addSpecialTokens?: boolean;
}

/**
 * The token ids of a client's texts.
 * @throws InvalidRequestError for a text that is too long, or has a token that the model lacks; else as
 *   PromptEncoder.encodeTexts
 */
export async function encodeTexts(
  { prompts }: { readonly prompts: Pick<PromptEncoder, 'encodeTexts'> },
  texts: readonly string[],
  { field, maxTokens, addSpecialTokens = true }: ClientTextOptions,
  caller: Caller,
): Promise<Int32Array[]> {
  try {
    return await prompts.encodeTexts(texts, { addSpecialTokens, maxTokens }, caller);
  } catch (error) {
    throw inClientWords(error, maxTokens, field);
  }
}
