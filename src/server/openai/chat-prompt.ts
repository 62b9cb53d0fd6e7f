/** From a conversation to the tokens of its prompt. */
import type { Caller } from '../../front/caller.ts';
import { ChatTemplateError, type ChatMessage } from '../../front/chat/chat-message.ts';
import type { EncodedPrompt } from '../../front/prompts/prompt-job.ts';
import type { ServerContext } from '../context.ts';
import { badRequest } from '../errors.ts';
import { inClientWords } from '../generation/prompt-length.ts';
import type { ChatPromptFields } from '../schemas/bodies.ts';

/**
 * The prompt of a conversation, opened for the assistant's answer unless `fields` say otherwise.
 * @param maxTokens a prompt that must come to more is refused before it is tokenized
 * @throws ApiError 400 when the model has no chat template, the template refuses the messages or
 *   the prompt is too long; for long ones also what PromptEncoder throws.
 */
export async function encodeChat(
  { prompts, model }: ServerContext,
  messages: readonly ChatMessage[],
  fields: ChatPromptFields,
  maxTokens: number,
  caller: Caller,
): Promise<EncodedPrompt> {
  if (!prompts.canChat) {
    throw badRequest(
      `The model \`${model.id}\` has no chat template; use /v1/completions.`,
      'messages',
      'chat_template_missing',
    );
  }
  const continueFinalMessage = fields.continue_final_message ?? false;
  const options = {
    addGenerationPrompt: fields.add_generation_prompt ?? !continueFinalMessage,
    continueFinalMessage,
    tools: fields.tool_choice === 'none' ? undefined : (fields.tools ?? undefined),
    kwargs: fields.chat_template_kwargs ?? undefined,
    maxTokens,
  };
  try {
    return await prompts.encodeChat(messages, options, caller);
  } catch (error) {
    if (!(error instanceof ChatTemplateError)) throw inClientWords(error, maxTokens, 'messages');
    const reason = error.message.slice(0, 500);
    throw badRequest(`The chat template refused the messages: ${reason}`, 'messages');
  }
}
