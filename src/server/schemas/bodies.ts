/** The request bodies. Unknown fields are accepted; `prompt` and `messages` have their own parsers. */
import { z } from 'zod';
import { boundedList, generationFields } from './fields.ts';

const MAX_TOOLS = 1024;

const tools = boundedList(
  z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
  MAX_TOOLS,
).nullish();

/** What shapes the prompt of a conversation. */
const chatPromptFields = {
  tools,
  tool_choice: z.unknown().optional(),
  /** True unless the last message is to be continued. */
  add_generation_prompt: z.boolean().nullish(),
  continue_final_message: z.boolean().nullish(),
  /** Variables for the model's template, such as `enable_thinking`. */
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
};

const chatPromptBody = z.looseObject(chatPromptFields);

export type ChatPromptFields = z.infer<typeof chatPromptBody>;

export const completionBody = z.looseObject({
  ...generationFields,
  add_special_tokens: z.boolean().nullish(),
});

export const chatCompletionBody = z.looseObject({
  ...generationFields,
  max_completion_tokens: z.int().min(1).nullish(),
  ...chatPromptFields,
});

export const tokenizeBody = z.looseObject({
  model: z.string().nullish(),
  prompt: z.string().optional(),
  add_special_tokens: z.boolean().nullish(),
  return_token_strs: z.boolean().nullish(),
  ...chatPromptFields,
});

export const detokenizeBody = z.looseObject({
  model: z.string().nullish(),
});
