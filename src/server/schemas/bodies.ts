/** The request bodies. Unknown fields are accepted; `prompt` and `messages` have their own parsers. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { beamFields } from './beam-fields.ts';
import { generationFields, shortText, templateVariables, thinkingTokenBudget } from './fields.ts';
import { structuredFields } from './structured.ts';
import { toolChoice, tools } from './tools.ts';

/** Fields that affect the prompt of a conversation. */
const chatPromptFields = {
  tools,
  tool_choice: toolChoice,
  /** True unless the last message is to be continued. */
  add_generation_prompt: z.boolean().nullish(),
  continue_final_message: z.boolean().nullish(),
  chat_template_kwargs: templateVariables.nullish(),
  /** For models whose template knows it; `none` turns thinking off. */
  reasoning_effort: shortText.nullish(),
};

const chatPromptBody = z.looseObject(chatPromptFields);

export type ChatPromptFields = z.infer<typeof chatPromptBody>;

export const completionBody = z.looseObject({
  ...generationFields,
  ...beamFields,
  ...structuredFields,
  add_special_tokens: z.boolean().nullish(),
  /** 0 together with `echo` only: the prompt is scored, and nothing shown after it. */
  max_tokens: z.int().min(0).nullish(),
  /** Begin the answer with the prompt. */
  echo: z.boolean().nullish(),
  /** Text after the prompt: the answer goes in between. */
  suffix: z.string().nullish(),
  /** Log-probabilities of each token and of this many of the likeliest. */
  logprobs: z.int().min(0).max(LIMITS.logprobs).nullish(),
});

export type CompletionBody = z.infer<typeof completionBody>;

export const chatCompletionBody = z.looseObject({
  ...generationFields,
  ...beamFields,
  ...structuredFields,
  /** Whether an answer may hold more than one tool call; true unless said otherwise. */
  parallel_tool_calls: z.boolean().nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  /** Begin the answer with the last message, if it is the assistant's. */
  echo: z.boolean().nullish(),
  logprobs: z.boolean().nullish(),
  /** With `logprobs`: this many of the likeliest tokens, too. */
  top_logprobs: z.int().min(0).max(LIMITS.logprobs).nullish(),
  /** Whether the answer has what the model thinks; true unless said otherwise. */
  include_reasoning: z.boolean().nullish(),
  thinking_token_budget: thinkingTokenBudget,
  ...chatPromptFields,
});

export type ChatCompletionBody = z.infer<typeof chatCompletionBody>;

export const tokenizeBody = z.looseObject({
  model: shortText.nullish(),
  prompt: z.string().optional(),
  add_special_tokens: z.boolean().nullish(),
  return_token_strs: z.boolean().nullish(),
  /** Field of this server alone. */
  return_token_bytes: z.boolean().nullish(),
  ...chatPromptFields,
});

/** The query of /tokenizer_info. */
export const tokenizerQuery = z.looseObject({ model: shortText.optional() });

export const detokenizeBody = z.looseObject({
  model: shortText.nullish(),
});
