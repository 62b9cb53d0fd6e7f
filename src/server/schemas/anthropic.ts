/** The body of /v1/messages. `messages` has its own parser. Unknown fields are accepted. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList } from './bounded-list.ts';
import { generationFields, shortText } from './fields.ts';
import { imageBlock } from './images.ts';
import { measured } from './structured.ts';

const textBlock = z.looseObject({ type: z.literal('text'), text: z.string() });

const textOnly = z.union([z.string(), boundedList(textBlock, LIMITS.messageParts)], {
  error: 'expected a string or a list of `text` blocks',
});

const title = z.string().nullish();

/** A document in words; of those in pages nothing is read. */
const document = z.looseObject({
  type: z.literal('document'),
  title,
  context: title,
  source: z.discriminatedUnion(
    'type',
    [
      z.looseObject({ type: z.literal('text'), data: z.string() }),
      z.looseObject({ type: z.literal('content'), content: textOnly }),
    ],
    { error: 'only documents of type `text` or `content` are supported, in text alone' },
  ),
});

const searchResult = z.looseObject({
  type: z.literal('search_result'),
  title,
  content: boundedList(textBlock, LIMITS.messageParts),
});

/** Tool that a tool search found; the model receives only its name. */
const toolReference = z.looseObject({ type: z.literal('tool_reference'), tool_name: shortText });

const readable = z.discriminatedUnion(
  'type',
  [textBlock, imageBlock, document, searchResult, toolReference],
  {
    error:
      'expected a block of type `text`, `image`, `document`, `search_result` or `tool_reference`',
  },
);

export type Readable = z.infer<typeof readable>;

/** Types of blocks of what Anthropic's own tools did: accepted, and not for the model. */
export const SERVER_BLOCKS = [
  'server_tool_use',
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'mcp_tool_use',
  'mcp_tool_result',
  'container_upload',
] as const;

const block = z.discriminatedUnion(
  'type',
  [
    textBlock,
    imageBlock,
    document,
    searchResult,
    toolReference,
    z.looseObject({
      type: z.literal('tool_use'),
      id: shortText.min(1),
      name: shortText.min(1),
      input: z.looseObject({}),
    }),
    z.looseObject({
      type: z.literal('tool_result'),
      tool_use_id: shortText.min(1),
      content: z.union([z.string(), boundedList(readable, LIMITS.messageParts)]).nullish(),
      is_error: z.boolean().nullish(),
    }),
    z.looseObject({ type: z.literal('thinking'), thinking: z.string() }),
    z.looseObject({ type: z.literal('redacted_thinking') }),
    z.looseObject({ type: z.enum(SERVER_BLOCKS) }),
  ],
  {
    error:
      'expected a block of type `text`, `image`, `document`, `search_result`, `tool_use`, `tool_result` or `thinking`',
  },
);

export type Block = z.infer<typeof block>;

export const blocks = boundedList(block, LIMITS.messageParts);

export const anthropicMessage = z.looseObject({
  role: z.enum(['user', 'assistant', 'system']),
  content: z.union([z.string(), blocks], { error: 'expected a string or a list of blocks' }),
});

export type AnthropicMessage = z.infer<typeof anthropicMessage>;

export const ownTool = z.looseObject({
  type: z.literal('custom').nullish(),
  name: z.string().min(1).max(LIMITS.toolNameCharacters),
  description: z.string().max(LIMITS.toolDescriptionCharacters).nullish(),
  input_schema: z.looseObject({}),
  strict: z.boolean().nullish(),
});

export type OwnTool = z.infer<typeof ownTool>;

/**
 * Types other than `custom` are of tools that Anthropic runs, or that its models know without a
 * definition.
 */
const tool = z.looseObject({ type: shortText.nullish() });

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

const outputFormat = z.looseObject({
  type: z.literal('json_schema', { error: 'expected `json_schema`' }),
  schema: measured(z.looseObject({})),
});

/** Fields that affect the prompt; the only ones that counting tokens needs. */
const promptFields = {
  output_config: z
    .looseObject({
      /** For models whose template knows it. */
      effort: shortText.nullish(),
      format: outputFormat.nullish(),
    })
    .nullish(),
  model: generationFields.model,
  system: textOnly.nullish(),
  /** Parsed one by one. */
  tools: boundedList(tool, LIMITS.tools).nullish(),
  tool_choice: toolChoice.nullish(),
  thinking: z
    .looseObject({
      type: shortText,
      /** Tokens that may be thought. */
      budget_tokens: z.int().min(0).nullish(),
    })
    .nullish(),
};

export const countTokensBody = z.looseObject(promptFields);

export type CountTokensBody = z.infer<typeof countTokensBody>;

export const messagesBody = z.looseObject({
  ...promptFields,
  max_tokens: z.int().min(1),
  /** The older name of `output_config.format`. */
  output_format: outputFormat.nullish(),
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
