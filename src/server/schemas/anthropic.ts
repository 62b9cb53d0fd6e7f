/** The body of /v1/messages. `messages` has its own parser. Unknown fields are accepted. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList, generationFields, shortText } from './fields.ts';

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() });

const textOnly = z.union([z.string(), boundedList(textBlock, LIMITS.messageParts)], {
  error: 'expected a string or a list of `text` blocks',
});

const block = z.discriminatedUnion(
  'type',
  [
    textBlock,
    z.looseObject({
      type: z.literal('tool_use'),
      id: shortText.min(1),
      name: shortText.min(1),
      input: z.looseObject({}),
    }),
    z.looseObject({
      type: z.literal('tool_result'),
      tool_use_id: shortText.min(1),
      content: textOnly.nullish(),
      is_error: z.boolean().nullish(),
    }),
    z.looseObject({ type: z.literal('thinking'), thinking: z.string() }),
    z.looseObject({ type: z.literal('redacted_thinking') }),
  ],
  {
    error: 'expected a block of type `text`, `tool_use`, `tool_result` or `thinking`',
  },
);

export type Block = z.infer<typeof block>;

export const blocks = boundedList(block, LIMITS.messageParts);

export const anthropicMessage = z.looseObject({
  role: z.enum(['user', 'assistant']),
  content: z.union([z.string(), blocks], { error: 'expected a string or a list of blocks' }),
});

export type AnthropicMessage = z.infer<typeof anthropicMessage>;

const tool = z.looseObject({
  type: z.literal('custom', { error: 'only tools of your own are supported' }).nullish(),
  name: z.string().min(1).max(LIMITS.toolNameCharacters),
  description: z.string().max(LIMITS.toolDescriptionCharacters).nullish(),
  input_schema: z.looseObject({}),
});

const toolChoice = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('auto') }),
    z.looseObject({ type: z.literal('any') }),
    z.looseObject({ type: z.literal('none') }),
    z.looseObject({ type: z.literal('tool'), name: shortText }),
  ],
  { error: 'expected `auto`, `any`, `none` or `tool`' },
);

/** What shapes the prompt; all that counting tokens needs. */
const promptFields = {
  model: generationFields.model,
  system: textOnly.nullish(),
  tools: boundedList(tool, LIMITS.tools).nullish(),
  tool_choice: toolChoice.nullish(),
  thinking: z.looseObject({ type: shortText }).nullish(),
};

export const countTokensBody = z.looseObject(promptFields);

export type CountTokensBody = z.infer<typeof countTokensBody>;

export const messagesBody = z.looseObject({
  ...promptFields,
  max_tokens: z.int().min(1),
  stop_sequences: boundedList(
    z.string().min(1).max(LIMITS.stopStringCharacters),
    LIMITS.stopStrings,
  ).nullish(),
  stream: z.boolean().nullish(),
  temperature: generationFields.temperature,
  top_p: generationFields.top_p,
  top_k: generationFields.top_k,
  metadata: z.looseObject({ user_id: shortText.nullish() }).nullish(),
});

export type MessagesBody = z.infer<typeof messagesBody>;
