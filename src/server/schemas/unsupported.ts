/**
 * Fields of the OpenAI and vLLM APIs that this server does not act on. A value that would change
 * the answer is rejected rather than ignored; a value that changes nothing passes.
 */
import { badRequest } from '../errors.ts';

type Neutral = (value: unknown) => boolean;

const isOff: Neutral = (value) => value === false;
const isEmpty: Neutral = (value) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
const never: Neutral = () => false;

const COMMON: Readonly<Record<string, Neutral>> = {
  use_beam_search: isOff,
  logits_processors: isEmpty,
};

const COMPLETION_ONLY: Readonly<Record<string, Neutral>> = {
  ...COMMON,
  suffix: (value) => value === '',
  prompt_embeds: never,
};

const CHAT_ONLY: Readonly<Record<string, Neutral>> = {
  ...COMMON,
  functions: isEmpty,
  function_call: (value) => value === 'none' || value === 'auto',
  audio: never,
  modalities: (value) => Array.isArray(value) && value.every((item) => item === 'text'),
  web_search_options: never,
  chat_template: never,
  documents: isEmpty,
  thinking_token_budget: never,
};

const OLLAMA_ONLY: Readonly<Record<string, Neutral>> = {
  suffix: (value) => value === '',
  images: isEmpty,
  template: (value) => value === '',
  context: isEmpty,
  logprobs: isOff,
};

const OLLAMA_OPTIONS: Readonly<Record<string, Neutral>> = {
  mirostat: (value) => value === 0,
  typical_p: (value) => value === 1,
  tfs_z: (value) => value === 1,
};

/** Where there is more to say than that it is not supported. */
const REASONS: Readonly<Record<string, string>> = {
  suffix: 'needs a model that was trained to fill in the middle, which this one was not',
  images: 'are for models that see; this one takes text only',
  template: "is the model's own here; use `raw` to send a prompt as it is",
  context: 'is not supported; send the whole conversation to /api/chat',
};

type Body = Readonly<Record<string, unknown>>;

/** @throws ApiError 400 naming the first such field of a /v1/completions body. */
export function rejectUnsupportedInCompletion(body: Body): void {
  reject(body, COMPLETION_ONLY);
}

/** @throws ApiError 400 naming the first such field of a /v1/chat/completions body. */
export function rejectUnsupportedInChat(body: Body): void {
  reject(body, CHAT_ONLY);
}

/** @throws ApiError 400 naming the first such field of a body of /api/chat or /api/generate. */
export function rejectUnsupportedByOllama(body: Body): void {
  reject(body, OLLAMA_ONLY);
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
