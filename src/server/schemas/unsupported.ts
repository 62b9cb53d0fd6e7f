/**
 * Fields of the OpenAI and vLLM APIs that this server does not act on. A value that would change
 * the answer is rejected rather than ignored; a value that changes nothing passes.
 */
import { badRequest } from '../errors.ts';

type Neutral = (value: unknown) => boolean;

const isOn: Neutral = (value) => value === true;
const isOff: Neutral = (value) => value === false;
const isZero: Neutral = (value) => value === 0;
const isOne: Neutral = (value) => value === 1;
const isText =
  (text: string): Neutral =>
  (value) =>
    value === text;
const isEmpty: Neutral = (value) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const never: Neutral = () => false;

/** Those of the APIs that search. */
const SEARCHING: Readonly<Record<string, Neutral>> = {
  spaces_between_special_tokens: isOn,
  logits_processors: isEmpty,
  prompt_embeds: isEmpty,
  logprob_token_ids: isEmpty,
  repetition_detection: isEmpty,
  max_repetition_pattern_size: isZero,
  min_repetition_pattern_size: isZero,
  repetition_min_count: isZero,
  kv_transfer_params: isEmpty,
  ec_transfer_params: isEmpty,
  vllm_xargs: isEmpty,
  // Fields of llama-server and others.
  grammar: isText(''),
  json_schema: isEmpty,
  ebnf: isText(''),
  regex: isText(''),
  mirostat: isZero,
  tfs_z: isOne,
};

const COMMON: Readonly<Record<string, Neutral>> = { ...SEARCHING, use_beam_search: isOff };

/** Samplers that only OpenAI's completions and llama-server's API have. */
const EXTRA_SAMPLERS: Readonly<Record<string, Neutral>> = {
  typical_p: isOne,
  top_n_sigma: (value) => isZero(value) || value === -1,
  dynatemp_range: isZero,
  xtc_probability: isZero,
  dry_multiplier: isZero,
};

const COMPLETION_ONLY: Readonly<Record<string, Neutral>> = {
  ...SEARCHING,
  thinking_token_budget: (value) => value === -1,
};

const INFERENCE_ONLY: Readonly<Record<string, Neutral>> = {
  ...COMPLETION_ONLY,
  use_beam_search: isOff,
  suffix: isText(''),
};

const LLAMA_COMPLETION: Readonly<Record<string, Neutral>> = {
  mirostat: isZero,
  tfs_z: isOne,
  n_probs: isZero,
  lora: isEmpty,
  image_data: isEmpty,
};

const CHAT_ONLY: Readonly<Record<string, Neutral>> = {
  ...SEARCHING,
  // Templates write their own.
  add_special_tokens: isOff,
  functions: isEmpty,
  function_call: (value) => value === 'none' || value === 'auto',
  audio: never,
  modalities: (value) => Array.isArray(value) && value.every((item) => item === 'text'),
  web_search_options: never,
  chat_template: never,
  documents: isEmpty,
};

const RESPONSES_ONLY: Readonly<Record<string, Neutral>> = {
  ...COMMON,
  ...EXTRA_SAMPLERS,
  prompt: never,
  structured_outputs: isEmpty,
  logit_bias: isEmpty,
  bad_words: isEmpty,
  allowed_token_ids: isEmpty,
  previous_input_messages: isEmpty,
};

const ANTHROPIC_ONLY: Readonly<Record<string, Neutral>> = {
  mcp_servers: isEmpty,
  container: never,
};

const OLLAMA_ONLY: Readonly<Record<string, Neutral>> = {
  template: isText(''),
  context: isEmpty,
};

const OLLAMA_CHAT_ONLY: Readonly<Record<string, Neutral>> = {
  ...OLLAMA_ONLY,
  suffix: isText(''),
  images: isEmpty,
};

const OLLAMA_OPTIONS: Readonly<Record<string, Neutral>> = {
  mirostat: isZero,
  tfs_z: isOne,
};

/** Explanations for fields that need more than "not supported". */
const REASONS: Readonly<Record<string, string>> = {
  n_probs: 'is `logprobs` of /v1/completions',
  image_data: 'is not supported; send images to /v1/chat/completions',
  thinking_token_budget: 'is of chats: nothing marks thoughts in a completion',
  use_beam_search: 'is of /v1/completions and /v1/chat/completions',
  suffix: 'is of /v1/completions, /api/generate and /infill',
  images: 'are of messages in /api/chat',
  template: "is the model's own here; use `raw` to send a prompt as it is",
  mirostat:
    'is not supported: it depends on all draws before, so a text could not go on after a crash',
  grammar: 'is `structured_outputs.grammar` here',
  ebnf: 'is `structured_outputs.grammar` here',
  regex: 'is `structured_outputs.regex` here',
  json_schema: 'is `structured_outputs.json` here, or `response_format`',
  functions: 'are `tools` here',
  function_call: 'is `tool_choice` here',
  context: 'is not supported; send the whole conversation to /api/chat',
};

type Body = Readonly<Record<string, unknown>>;

/** @throws ApiError 400 naming the first such field of a /v1/completions body. */
export function rejectUnsupportedInCompletion(body: Body): void {
  reject(body, COMPLETION_ONLY);
}

/** @throws ApiError 400 naming the first such parameter of a request of the Open Inference Protocol. */
export function rejectUnsupportedInInference(body: Body): void {
  reject(body, INFERENCE_ONLY);
}

/** @throws ApiError 400 naming the first such field of a /v1/chat/completions body. */
export function rejectUnsupportedInChat(body: Body): void {
  reject(body, CHAT_ONLY);
}

/** @throws ApiError 400 naming the first such field of a /v1/responses body. */
export function rejectUnsupportedInResponse(body: Body): void {
  reject(body, RESPONSES_ONLY);
}

/** @throws ApiError 400 naming the first such field of a body of /infill. */
export function rejectUnsupportedByLlamaServer(body: Body): void {
  reject(body, COMMON);
}

/** @throws ApiError 400 naming the first such field of a body of /completion. */
export function rejectUnsupportedInLlamaCompletion(body: Body): void {
  reject(body, LLAMA_COMPLETION);
}

/** @throws ApiError 400 naming the first such field of a /v1/messages body. */
export function rejectUnsupportedByAnthropic(body: Body): void {
  reject(body, ANTHROPIC_ONLY);
}

/** @throws ApiError 400 naming the first such field of a body of /api/chat or /api/generate. */
export function rejectUnsupportedByOllama(body: Body, kind: 'chat' | 'generate'): void {
  reject(body, kind === 'chat' ? OLLAMA_CHAT_ONLY : OLLAMA_ONLY);
  const { options } = body;
  if (typeof options === 'object' && options !== null) reject({ ...options }, OLLAMA_OPTIONS);
}

function reject(body: Body, table: Readonly<Record<string, Neutral>>): void {
  for (const [field, isNeutral] of Object.entries(table)) {
    const value = body[field];
    if (value === undefined || value === null || isNeutral(value)) continue;
    const reason = REASONS[field] ?? 'with this value is not supported yet';
    throw badRequest(`\`${field}\` ${reason}.`, field, 'unsupported_parameter');
  }
}
