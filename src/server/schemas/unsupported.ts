/**
 * Fields of the OpenAI and vLLM APIs that this server does not act on. A value that would change
 * the answer is refused rather than ignored; a value that changes nothing passes.
 */
import { badRequest } from '../errors.ts';

type Neutral = (value: unknown) => boolean;

const isOff: Neutral = (value) => value === false;
const isEmpty: Neutral = (value) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const isOne: Neutral = (value) => value === 1;
const isZero: Neutral = (value) => value === 0;
const never: Neutral = () => false;

const COMMON: Readonly<Record<string, Neutral>> = {
  n: isOne,
  best_of: isOne,
  logit_bias: isEmpty,
  prompt_logprobs: never,
  allowed_token_ids: isEmpty,
  bad_words: isEmpty,
  use_beam_search: isOff,
  truncate_prompt_tokens: never,
  logits_processors: isEmpty,
  structured_outputs: isEmpty,
  guided_json: never,
  guided_regex: never,
  guided_choice: never,
  guided_grammar: never,
  response_format: (value) =>
    typeof value === 'object' && value !== null && 'type' in value && value.type === 'text',
};

const COMPLETION_ONLY: Readonly<Record<string, Neutral>> = {
  ...COMMON,
  echo: isOff,
  suffix: (value) => value === '',
  logprobs: never,
  prompt_embeds: never,
};

const CHAT_ONLY: Readonly<Record<string, Neutral>> = {
  ...COMMON,
  logprobs: isOff,
  top_logprobs: isZero,
  functions: isEmpty,
  function_call: (value) => value === 'none' || value === 'auto',
  tool_choice: (value) => value === 'none' || value === 'auto',
  audio: never,
  modalities: (value) => Array.isArray(value) && value.every((item) => item === 'text'),
  web_search_options: never,
  chat_template: never,
  documents: isEmpty,
  thinking_token_budget: never,
};

type Body = Readonly<Record<string, unknown>>;

/** @throws ApiError 400 naming the first such field of a /v1/completions body. */
export function refuseUnsupportedInCompletion(body: Body): void {
  refuse(body, COMPLETION_ONLY);
}

/** @throws ApiError 400 naming the first such field of a /v1/chat/completions body. */
export function refuseUnsupportedInChat(body: Body): void {
  refuse(body, CHAT_ONLY);
}

function refuse(body: Body, table: Readonly<Record<string, Neutral>>): void {
  for (const [field, isNeutral] of Object.entries(table)) {
    const value = body[field];
    if (value === undefined || value === null || isNeutral(value)) continue;
    throw badRequest(
      `\`${field}\` with this value is not supported yet.`,
      field,
      'unsupported_parameter',
    );
  }
}
