/** From a conversation to the tokens of its prompt. */
import type { Caller } from '../caller.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import type { ChatTokens, PromptEncoder } from '../prompts/prompt-encoder.ts';
import { inClientWords } from '../prompts/prompt-length.ts';
import { ChatTemplateError } from '../templates/chat-message.ts';
import { type ChatPrompt, requireMessages } from './chat-request.ts';
import { told } from '../../told.ts';

export interface ChatPromptOptions {
  /** A prompt that must come to more is refused before it is tokenized. */
  readonly maxTokens: number;
  /** Client's name for the messages, for errors. */
  readonly field: string;
}

/** Encoder of a model's prompts, and the model's id. */
export interface ChatPrompts {
  readonly prompts: Pick<PromptEncoder, 'canChat' | 'encodeChat'>;
  readonly model: { readonly id: string };
}

/**
 * The prompt of a conversation.
 * @throws InvalidRequestError when the model has no chat template, the template refuses the messages
 *   or the prompt is too long; for long ones also what PromptEncoder throws.
 */
export async function encodeChat(
  { prompts, model }: ChatPrompts,
  chat: ChatPrompt,
  { maxTokens, field }: ChatPromptOptions,
  caller: Caller,
): Promise<ChatTokens> {
  if (!prompts.canChat) {
    const message = `The model \`${model.id}\` has no chat template; use /v1/completions.`;
    throw new InvalidRequestError(message, field, 'chat_template_missing');
  }
  requireMessages(chat.messages, field);
  const options = {
    addGenerationPrompt: chat.addGenerationPrompt,
    continueFinalMessage: chat.continueFinalMessage,
    tools: chat.toolChoice === 'none' ? undefined : chat.tools,
    kwargs: chat.templateVariables ?? undefined,
    thinking: chat.thinking,
    images: chat.images,
    maxTokens,
  };
  try {
    return await prompts.encodeChat(chat.messages, options, caller);
  } catch (error) {
    if (!(error instanceof ChatTemplateError)) throw inClientWords(error, maxTokens, field);
    const reason = told(error.message, 500);
    throw new InvalidRequestError(`The chat template refused the messages: ${reason}`, field);
  }
}
