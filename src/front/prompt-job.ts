/** Makes prompts out of texts and chats. */
import { type ChatMessage, ChatTemplateError } from './chat-message.ts';
import type { ChatRenderOptions } from './chat-template.ts';
import type { TextModel } from './text-model.ts';

/** A plain value that crosses threads. */
export type PromptJob =
  | {
      readonly type: 'texts';
      readonly texts: readonly string[];
      /** See TextTokenizer.encode. */
      readonly addSpecialTokens: boolean;
    }
  | {
      readonly type: 'chat';
      readonly messages: readonly ChatMessage[];
      readonly options: ChatRenderOptions;
    };

export interface EncodedPrompt {
  readonly text: string;
  readonly tokenIds: Int32Array;
}

/**
 * @returns one prompt for each text, or the chat's
 * @throws ChatTemplateError if the chat can't be rendered; its message is for the client
 */
export function runPromptJob(
  { tokenizer, chatTemplate }: Pick<TextModel, 'tokenizer' | 'chatTemplate'>,
  job: PromptJob,
): EncodedPrompt[] {
  if (job.type === 'texts') {
    const { addSpecialTokens } = job;
    return job.texts.map((text) => ({
      text,
      tokenIds: tokenizer.encode(text, { addSpecialTokens }),
    }));
  }
  if (chatTemplate === null) throw new ChatTemplateError('the model has no chat template');
  const text = chatTemplate.render(job.messages, job.options);
  // The template writes the special tokens itself.
  return [{ text, tokenIds: tokenizer.encode(text, { addSpecialTokens: false }) }];
}

/** What a value costs beside its characters: a message takes its turn through the template. */
const CHARACTERS_PER_VALUE = 32;

/** Whether a job has more than `limit` characters, counted no further than that. */
export function isLongerThan(limit: number, job: PromptJob): boolean {
  let left = limit;
  const pending: unknown[] = [job];
  while (pending.length > 0 && left >= 0) {
    const value = pending.pop();
    left -= CHARACTERS_PER_VALUE;
    if (typeof value === 'string') left -= value.length;
    if (typeof value !== 'object' || value === null) continue;
    for (const part of Object.values(value)) pending.push(part);
  }
  return left < 0;
}
