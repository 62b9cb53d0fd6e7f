/** The part that all APIs have in common that fill in a text. */
import type { Caller } from '../../front/caller.ts';
import type { ChatPromptOptions } from '../../front/chat/chat-prompt.ts';
import { inClientWords } from '../../front/prompts/prompt-length.ts';
import type { InfillText } from '../../front/text/infill.ts';
import type { ServedText } from '../runtimes.ts';
import { badRequest } from '../errors.ts';

/**
 * @param field that asks for it
 * @returns tokens that end what is filled in
 * @throws ApiError 400 for a model that cannot
 */
export function requireInfill(
  { prompts: { infillStops }, model }: Pick<ServedText, 'prompts' | 'model'>,
  field: string,
): readonly number[] {
  if (infillStops !== null) return infillStops;
  const message = `\`${field}\` needs a model that was trained to fill in the middle: the tokenizer of \`${model.id}\` has no tokens for it.`;
  throw badRequest(message, field, 'unsupported_parameter');
}

/** The tokens of such a prompt. @throws InvalidRequestError; else as PromptEncoder.encodeInfill */
export function infillPrompt(
  { prompts }: Pick<ServedText, 'prompts'>,
  text: InfillText,
  { maxTokens, field }: ChatPromptOptions,
  caller: Caller,
): Promise<Int32Array> {
  return prompts.encodeInfill(text, maxTokens, caller).catch((error: unknown) => {
    throw inClientWords(error, maxTokens, field);
  });
}
