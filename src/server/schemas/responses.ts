/** The body of /v1/responses. `input` has its own parser. Unknown fields are accepted. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList } from './bounded-list.ts';
import { generationFields, shortText, templateVariables, thinkingTokenBudget } from './fields.ts';
import { measured } from './structured.ts';
import { textGrammar } from './tools.ts';

const MAX_INCLUDES = 64;
const MAX_METADATA = 16;
const ALLOWED_TOOLS = 'allowed_tools';

const name = z.string().min(1).max(LIMITS.toolNameCharacters);
const description = z.string().max(LIMITS.toolDescriptionCharacters).nullish();

export const functionTool = z.looseObject({
  type: z.literal('function'),
  name,
  description,
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
});

export const customTool = z.looseObject({
  type: z.literal('custom'),
  name,
  description,
  format: z
    .discriminatedUnion(
      'type',
      [
        z.looseObject({ type: z.literal('text') }),
        textGrammar.extend({ type: z.literal('grammar') }),
      ],
      { error: 'expected `text` or `grammar`' },
    )
    .nullish(),
});

const ofNamespace = z.discriminatedUnion('type', [functionTool, customTool], {
  error: 'expected a tool of type `function` or `custom`',
});

export type FunctionTool = z.infer<typeof functionTool>;

export type CustomTool = z.infer<typeof customTool>;

export const namespaceTool = z.looseObject({
  type: z.literal('namespace'),
  name,
  description,
  tools: boundedList(ofNamespace, LIMITS.tools),
});

/** Types beyond those above are of tools that only a hosted service runs. */
const tool = z.looseObject({ type: shortText.min(1) });

const namedTool = z.looseObject({
  type: shortText.refine((type) => type !== ALLOWED_TOOLS),
  name: shortText.nullish(),
  namespace: shortText.nullish(),
});

const allowedTools = z.looseObject({
  type: z.literal(ALLOWED_TOOLS),
  mode: z.enum(['auto', 'required']),
  tools: boundedList(namedTool, LIMITS.tools),
});

export type NamedTool = z.infer<typeof namedTool>;

export type AllowedTools = z.infer<typeof allowedTools>;

const toolChoice = z.union([z.enum(['none', 'auto', 'required']), allowedTools, namedTool], {
  error: 'expected `none`, `auto`, `required`, or an object that names tools',
});

const textFormat = z.discriminatedUnion(
  'type',
  [
    z.looseObject({ type: z.literal('text') }),
    z.looseObject({ type: z.literal('json_object') }),
    z.looseObject({
      type: z.literal('json_schema'),
      name: shortText.min(1),
      schema: measured(z.looseObject({})),
      description: z.string().max(LIMITS.toolDescriptionCharacters).nullish(),
      strict: z.boolean().nullish(),
    }),
  ],
  { error: 'expected `text`, `json_object` or `json_schema`' },
);

const metadata = z
  .custom<object>(
    (value) =>
      typeof value === 'object' && value !== null && Object.keys(value).length <= MAX_METADATA,
    { error: `expected an object of at most ${MAX_METADATA} texts` },
  )
  .pipe(z.record(z.string().max(64), z.string().max(512)));

const compactionStrategy = z.looseObject({
  type: z.literal('compaction'),
  /** Tokens of the input; the server's own threshold if left out. */
  compact_threshold: z.int().min(1).nullish(),
});

/** Fields that other APIs have, too: OpenAI's, and vLLM's extra ones. */
export const generationFieldsOfResponses = {
  temperature: generationFields.temperature,
  top_p: generationFields.top_p,
  top_k: generationFields.top_k,
  min_p: generationFields.min_p,
  min_tokens: generationFields.min_tokens,
  repetition_penalty: generationFields.repetition_penalty,
  presence_penalty: generationFields.presence_penalty,
  frequency_penalty: generationFields.frequency_penalty,
  seed: generationFields.seed,
  stop: generationFields.stop,
  stop_token_ids: generationFields.stop_token_ids,
  ignore_eos: generationFields.ignore_eos,
  priority: generationFields.priority,
  service_tier: generationFields.service_tier,
  timeout: generationFields.timeout,
  cache_salt: generationFields.cache_salt,
  user: generationFields.user,
};

export const responseBody = z.looseObject({
  ...generationFieldsOfResponses,
  model: generationFields.model,
  parallel_tool_calls: z.boolean().nullish(),
  chat_template_kwargs: templateVariables.nullish(),
  thinking_token_budget: thinkingTokenBudget,
  /** A system message of this response alone; those of previous ones are not carried over. */
  instructions: z.string().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  /** Limit for tools that the server runs itself. None exist, so it changes nothing. */
  max_tool_calls: z.int().min(1).nullish(),
  top_logprobs: z.int().min(0).max(LIMITS.logprobs).nullish(),
  include: boundedList(shortText, MAX_INCLUDES).nullish(),
  /** Parsed one by one, by type. */
  tools: boundedList(tool, LIMITS.tools).nullish(),
  tool_choice: toolChoice.nullish(),
  text: z.looseObject({ format: textFormat.nullish(), verbosity: shortText.nullish() }).nullish(),
  reasoning: z.looseObject({ effort: shortText.nullish(), summary: shortText.nullish() }).nullish(),
  previous_response_id: shortText.nullish(),
  /** A conversation that it goes on with, and is added to. */
  conversation: z.union([shortText, z.looseObject({ id: shortText })]).nullish(),
  /** Kept for later by default. */
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  /** Answered at once; the response is then polled, or cancelled. */
  background: z.boolean().nullish(),
  /** `auto` drops the oldest items of a conversation that is too long. */
  truncation: z.enum(['auto', 'disabled']).nullish(),
  /** Sums a conversation up before it is answered, once. */
  context_management: boundedList(compactionStrategy, 1).nullish(),
  metadata: metadata.nullish(),
  safety_identifier: shortText.nullish(),
  prompt_cache_key: shortText.nullish(),
  /** Told again: prefixes are kept as long as there is room. */
  prompt_cache_retention: z.enum(['in_memory', '24h']).nullish(),
});

export type ResponseBody = z.infer<typeof responseBody>;

/** `items` has its own parser. */
export const conversationBody = z.looseObject({ metadata: metadata.nullish() });

export const conversationChange = z.looseObject({ metadata: metadata.nullable() });

/** Body of a request to compact a conversation; `input` has its own parser. */
export const compactBody = z.looseObject({
  input: z.unknown().optional(),
  model: responseBody.shape.model,
  instructions: responseBody.shape.instructions,
  previous_response_id: responseBody.shape.previous_response_id,
  prompt_cache_key: responseBody.shape.prompt_cache_key,
});
