/** The body of /v1/responses. `input` has its own parser. Unknown fields are accepted. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList, generationFields, shortText, templateVariables } from './fields.ts';
import { measured } from './structured.ts';

const MAX_INCLUDES = 64;
const MAX_METADATA = 16;

const functionTool = z.looseObject({
  type: z.literal('function', { error: 'only tools of type `function` are supported' }),
  name: z.string().min(1).max(LIMITS.toolNameCharacters),
  description: z.string().max(LIMITS.toolDescriptionCharacters).nullish(),
  parameters: z.looseObject({}).nullish(),
  strict: z.boolean().nullish(),
});

const namedTool = z.looseObject({ type: z.literal('function'), name: shortText });

const toolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    namedTool,
    z.looseObject({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'required']),
      tools: boundedList(namedTool, LIMITS.tools),
    }),
  ],
  { error: 'expected `none`, `auto`, `required`, or an object that names functions' },
);

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

/** What other APIs have as well. Beside OpenAI's fields, vLLM's extra ones. */
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
  /** A system message of this response alone; those of previous ones are not carried over. */
  instructions: z.string().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  top_logprobs: z.int().min(0).max(LIMITS.logprobs).nullish(),
  include: boundedList(shortText, MAX_INCLUDES).nullish(),
  tools: boundedList(functionTool, LIMITS.tools).nullish(),
  tool_choice: toolChoice.nullish(),
  text: z.looseObject({ format: textFormat.nullish(), verbosity: shortText.nullish() }).nullish(),
  reasoning: z.looseObject({ effort: shortText.nullish(), summary: shortText.nullish() }).nullish(),
  previous_response_id: shortText.nullish(),
  /** Kept for later by default. */
  store: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  /** Answered at once; the response is then polled, or cancelled. */
  background: z.boolean().nullish(),
  /** `auto` drops the oldest items of a conversation that is too long. */
  truncation: z.enum(['auto', 'disabled']).nullish(),
  metadata: metadata.nullish(),
  safety_identifier: shortText.nullish(),
  prompt_cache_key: shortText.nullish(),
});

export type ResponseBody = z.infer<typeof responseBody>;
