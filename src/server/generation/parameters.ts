/** From a checked body and its prompt to what the generator takes: defaults and limits. */
import { randomBytes } from 'node:crypto';
import type { LogitBias, SamplingParams } from '../../engine/request.ts';
import type { GenerationRequest } from '../../front/generation/generation.ts';
import type { ServedModel } from '../context.ts';
import { badRequest } from '../errors.ts';
import type { GenerationFields } from '../schemas/fields.ts';

const MAX_BIAS = 100;
/** vLLM's word for no seed. */
const RANDOM_SEED = -1n;

export interface OutputLimit {
  /** What the client asked for; null when it left that open. */
  readonly requested: number | null;
  /** The body's field that said so. */
  readonly param: string;
  /** The body's field that the prompt came from. */
  readonly promptParam: string;
  /** Used when the client left it open, as far as it fits; null is all that fits. */
  readonly fallback: number | null;
}

/**
 * The generation that `fields` asks for.
 * @throws ApiError 400 when the prompt is empty, when it and the output don't fit the model's
 *   context, or when an id lies outside its vocabulary.
 */
export function toGenerationRequest(
  fields: GenerationFields,
  promptTokenIds: Int32Array,
  limit: OutputLimit,
  model: ServedModel,
): GenerationRequest {
  if (promptTokenIds.length === 0) {
    const { promptParam } = limit;
    throw badRequest(`\`${promptParam}\` comes to no tokens at all.`, promptParam, 'invalid_value');
  }
  const prompt = truncate(promptTokenIds, fields.truncate_prompt_tokens, limit, model.maxModelLen);
  const maxTokens = resolveMaxTokens(prompt.length, limit, model.maxModelLen);
  const minTokens = fields.min_tokens ?? 0;
  if (minTokens > maxTokens) {
    throw badRequest(
      `\`min_tokens\` is ${minTokens}, more than the ${maxTokens} tokens that may be generated.`,
      'min_tokens',
      'invalid_value',
    );
  }
  const stopTokenIds = fields.stop_token_ids ?? [];
  requireInVocabulary(stopTokenIds, 'stop_token_ids', model.vocabSize);
  return {
    promptTokenIds: prompt,
    maxTokens,
    minTokens,
    stop: fields.stop ?? [],
    includeStopStrInOutput: fields.include_stop_str_in_output ?? false,
    stopTokenIds,
    ignoreEos: fields.ignore_eos ?? false,
    skipSpecialTokens: fields.skip_special_tokens ?? true,
    sampling: toSamplingParams(fields, model),
    // They are tokenized apart, in a thread where they are many.
    badWords: [],
    logprobs: null,
    promptLogprobs: fields.prompt_logprobs ?? null,
    priority: fields.priority ?? 0,
    cacheSalt: fields.cache_salt ?? '',
    client: fields.user ?? '',
    // Timers take whole milliseconds.
    timeoutMs: fields.timeout ? Math.ceil(fields.timeout * 1000) : null,
  };
}

/** @throws ApiError 400 naming the first id that the model does not have. */
export function requireInVocabulary(
  tokenIds: readonly number[],
  param: string,
  vocabSize: number,
): void {
  const index = tokenIds.findIndex((tokenId) => tokenId >= vocabSize);
  if (index === -1) return;
  const itemParam = `${param}.${index}`;
  throw badRequest(
    `\`${itemParam}\`: token id ${tokenIds[index]} is outside the vocabulary of ${vocabSize} tokens.`,
    itemParam,
    'invalid_value',
  );
}

/** The wording that OpenAI's clients look for. */
function resolveMaxTokens(numPrompt: number, limit: OutputLimit, maxModelLen: number): number {
  const room = maxModelLen - numPrompt;
  const context = `This model's maximum context length is ${maxModelLen} tokens.`;
  if (room < 1) {
    throw badRequest(
      `${context} However, the prompt has ${numPrompt} tokens, which leaves no room for output. Please shorten it.`,
      limit.promptParam,
      'context_length_exceeded',
    );
  }
  const { requested } = limit;
  if (requested === null) return Math.min(limit.fallback ?? room, room);
  if (requested <= room) return requested;
  throw badRequest(
    `${context} However, you requested ${numPrompt + requested} tokens (${numPrompt} in the prompt, ${requested} for the output). Please shorten the prompt or lower \`${limit.param}\`.`,
    limit.param,
    'context_length_exceeded',
  );
}

/** The prompt's last tokens, as many as `truncate_prompt_tokens` says. */
function truncate(
  promptTokenIds: Int32Array,
  numKept: number | null | undefined,
  { requested, fallback }: OutputLimit,
  maxModelLen: number,
): Int32Array {
  if (numKept === null || numKept === undefined) return promptTokenIds;
  if (numKept === 0 || numKept > maxModelLen) {
    throw badRequest(
      `\`truncate_prompt_tokens\`: expected -1 or a number from 1 to the model's context length of ${maxModelLen}.`,
      'truncate_prompt_tokens',
      'invalid_value',
    );
  }
  const room = Math.max(1, maxModelLen - (requested ?? fallback ?? 1));
  return promptTokenIds.slice(-(numKept === -1 ? room : numKept));
}

function toSamplingParams(fields: GenerationFields, model: ServedModel): SamplingParams {
  const defaults = model.samplingDefaults;
  return {
    temperature: fields.temperature ?? defaults.temperature ?? 1,
    topK: Math.max(0, fields.top_k ?? defaults.topK ?? 0),
    topP: fields.top_p ?? defaults.topP ?? 1,
    minP: fields.min_p ?? defaults.minP ?? 0,
    repetitionPenalty: fields.repetition_penalty ?? defaults.repetitionPenalty ?? 1,
    presencePenalty: fields.presence_penalty ?? 0,
    frequencyPenalty: fields.frequency_penalty ?? 0,
    seed: toSeed(fields.seed),
    logitBias: toLogitBias(fields.logit_bias ?? {}, model.vocabSize),
    allowedTokenIds: toAllowed(fields.allowed_token_ids ?? null, model.vocabSize),
  };
}

function toAllowed(tokenIds: readonly number[] | null, vocabSize: number): Int32Array | null {
  if (tokenIds === null) return null;
  requireInVocabulary(tokenIds, 'allowed_token_ids', vocabSize);
  return Int32Array.from(new Set(tokenIds));
}

function toLogitBias(
  biases: Readonly<Record<string, number>>,
  vocabSize: number,
): LogitBias | null {
  const names = Object.keys(biases);
  if (names.length === 0) return null;
  const tokenIds = new Int32Array(names.length);
  const values = new Float32Array(names.length);
  for (const [index, name] of names.entries()) {
    const tokenId = Number(name);
    if (!/^\d+$/.test(name) || tokenId >= vocabSize) {
      throw badRequest(
        `\`logit_bias\`: \`${name.slice(0, 50)}\` is not a token id of the vocabulary of ${vocabSize} tokens.`,
        'logit_bias',
        'invalid_value',
      );
    }
    tokenIds[index] = tokenId;
    // Clamped as vLLM does.
    values[index] = Math.min(MAX_BIAS, Math.max(-MAX_BIAS, biases[name] ?? 0));
  }
  return { tokenIds, biases: values };
}

/** Other negative seeds keep their bits: -2 and 2^64 - 2 are one seed. */
function toSeed(seed: number | bigint | null | undefined): bigint {
  if (seed === null || seed === undefined || BigInt(seed) === RANDOM_SEED) {
    return randomBytes(8).readBigUInt64LE();
  }
  return BigInt.asUintN(64, BigInt(seed));
}
