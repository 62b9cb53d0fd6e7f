/** The bodies of Ollama's API. `messages` has its own parser. Unknown fields are accepted. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList } from './bounded-list.ts';
import { generationFields, shortText } from './fields.ts';
import { measured } from './structured.ts';
import { functionTools } from './tools.ts';

const {
  model,
  temperature,
  top_p,
  top_k,
  min_p,
  stop,
  stream,
  presence_penalty,
  frequency_penalty,
  repetition_penalty,
} = generationFields;

/** Ollama's other options set up its own engine and mean nothing here. */
export const ollamaOptions = z.looseObject({
  temperature,
  top_p,
  top_k,
  min_p,
  seed: z.int().nullish(),
  stop,
  presence_penalty,
  frequency_penalty,
  repeat_penalty: repetition_penalty,
  typical_p: generationFields.typical_p,
  /** -1 and -2 are as many as fit. */
  num_predict: z.int().min(-2).nullish(),
});

export type OllamaOptions = z.infer<typeof ollamaOptions>;

const format = z.union([z.enum(['json', '']), measured(z.record(z.string(), z.unknown()))], {
  error: 'expected "json" or a JSON schema',
});

/** Files in base64. */
const ollamaImages = boundedList(z.string(), LIMITS.messageParts).nullish();

const common = {
  model,
  stream,
  format: format.nullish(),
  options: ollamaOptions.nullish(),
  /** Whether to think aloud, for models that can. */
  think: z
    .union([z.boolean(), z.enum(['low', 'medium', 'high'])], {
      error: 'expected true, false, `low`, `medium` or `high`',
    })
    .nullish(),
  /** Log-probabilities of each token. */
  logprobs: z.boolean().nullish(),
  /** With `logprobs`: this many of the likeliest tokens, too. */
  top_logprobs: z.int().min(0).max(LIMITS.logprobs).nullish(),
  /** How long the model stays after this: a duration such as "5m", or seconds; below 0 is forever. */
  keep_alive: z.union([z.string(), z.number()]).nullish(),
};

export const ollamaChatBody = z.looseObject({ ...common, tools: functionTools });

export type OllamaChatBody = z.infer<typeof ollamaChatBody>;

export const ollamaGenerateBody = z.looseObject({
  ...common,
  prompt: z.string().nullish(),
  images: ollamaImages,
  system: z.string().nullish(),
  /** Text after the prompt: the answer goes in between. */
  suffix: z.string().nullish(),
  /** Take the prompt as it is, without the chat template. */
  raw: z.boolean().nullish(),
});

export type OllamaGenerateBody = z.infer<typeof ollamaGenerateBody>;

export const ollamaMessage = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string().nullish(),
  thinking: z.string().nullish(),
  images: ollamaImages,
  tool_calls: boundedList(
    z.looseObject({
      id: shortText.nullish(),
      function: z.looseObject({
        name: shortText.min(1),
        arguments: z.record(z.string(), z.unknown()).nullish(),
      }),
    }),
    LIMITS.messageParts,
  ).nullish(),
  /** Name of the tool whose result this is. */
  tool_name: shortText.nullish(),
  tool_call_id: shortText.nullish(),
});

export type OllamaMessage = z.infer<typeof ollamaMessage>;

/** The body of /api/show and /api/pull; older clients say `name`. */
export const ollamaModelBody = z.looseObject({
  model: shortText.nullish(),
  name: shortText.nullish(),
  stream,
});

const text = z.string();

/** Body of `/api/embed`. */
export const ollamaEmbedBody = z.looseObject({
  model,
  input: z.union([text, boundedList(text, LIMITS.encoderTexts)], {
    error: 'expected a text or a list of texts',
  }),
  truncate: z.boolean().nullish(),
  dimensions: z.int().min(1).nullish(),
  keep_alive: common.keep_alive,
});

/** Body of `/api/embeddings`. */
export const ollamaEmbeddingsBody = z.looseObject({
  model,
  prompt: text,
  keep_alive: common.keep_alive,
});
