/** From the fields of a checked body to the settings of a generation, with the model's defaults. */
import { randomBytes } from 'node:crypto';
import type { LogitBias, SamplingParams } from '../../engine/request.ts';
import type { ThinkingBudget } from '../../front/chat/chat-request.ts';
import type { GenerationSettings } from '../../front/generation/generation.ts';
import type { ServedModel } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import type { GenerationFields } from '../schemas/fields.ts';
import { toExtraSamplers } from './extra-samplers.ts';
import { told } from '../../told.ts';

const MAX_BIAS = 100;
/** vLLM's word for no seed. */
const RANDOM_SEED = -1n;

type SampledModel = Pick<ServedModel, 'samplingDefaults' | 'vocabSize'> &
  Partial<Pick<ServedModel, 'tokensWith'>>;

/**
 * Parameters of a generation from a request's `fields`, whatever its prompt. Bad words are left out:
 * they are tokenized apart, in a thread if they are many.
 * @throws ApiError 400 when an id lies outside of the model's vocabulary
 */
export function toSettings(
  fields: GenerationFields,
  model: SampledModel,
): Omit<GenerationSettings, 'badWords'> {
  const stopTokenIds = fields.stop_token_ids ?? [];
  requireInVocabulary(stopTokenIds, 'stop_token_ids', model.vocabSize);
  return {
    minTokens: fields.min_tokens ?? 0,
    stop: fields.stop ?? [],
    includeStopStrInOutput: fields.include_stop_str_in_output ?? false,
    stopTokenIds,
    ignoreEos: fields.ignore_eos ?? false,
    skipSpecialTokens: fields.skip_special_tokens ?? true,
    sampling: toSamplingParams(fields, model),
    hasSeed: isSeed(fields.seed),
    logprobs: null,
    promptLogprobs: fields.prompt_logprobs ?? null,
    priority: fields.priority ?? 0,
    serviceTier: fields.service_tier ?? null,
    cacheSalt: fields.cache_salt ?? '',
    ...(fields.id_slot && fields.id_slot > 0 ? { slot: fields.id_slot } : {}),
    ...(fields.n_keep ? { numKept: fields.n_keep } : {}),
    client: fields.user ?? '',
    // Timers take whole milliseconds.
    timeoutMs: fields.timeout ? Math.ceil(fields.timeout * 1000) : null,
  };
}

/**
 * Number of the likeliest tokens to report for each position; null if no log-probabilities were asked
 * for.
 * @throws ApiError 400 for `top_logprobs` without `logprobs`
 */
export function topLogprobsOf(fields: {
  readonly logprobs?: boolean | null | undefined;
  readonly top_logprobs?: number | null | undefined;
}): number | null {
  const top = fields.top_logprobs ?? 0;
  if (fields.logprobs === true) return top;
  if (top === 0) return null;
  throw badRequest('`top_logprobs` needs `logprobs` to be true.', 'top_logprobs', 'invalid_value');
}

/** Null where the request leaves it to the server. */
export function thinkingBudgetOf({
  thinking_token_budget: budget,
}: {
  readonly thinking_token_budget?: number | null | undefined;
}): ThinkingBudget | null {
  if (budget === null || budget === undefined) return null;
  return { maxTokens: budget === -1 ? null : budget, field: 'thinking_token_budget' };
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

function toSamplingParams(fields: GenerationFields, model: SampledModel): SamplingParams {
  const defaults = model.samplingDefaults;
  const extra = toExtraSamplers(fields, model);
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
    ...(extra && { extra }),
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
        `\`logit_bias\`: \`${told(name, 50)}\` is not a token id of the vocabulary of ${vocabSize} tokens.`,
        'logit_bias',
        'invalid_value',
      );
    }
    tokenIds[index] = tokenId;
    values[index] = clampedBias(biases[name] ?? 0);
  }
  return { tokenIds, biases: values };
}

/** Bias of a logit within the bounds of OpenAI's API, as vLLM clamps it. */
export function clampedBias(bias: number): number {
  return Math.min(MAX_BIAS, Math.max(-MAX_BIAS, bias));
}

/** Other negative seeds keep their bits: -2 and 2^64 - 2 are one seed. */
function toSeed(seed: number | bigint | null | undefined): bigint {
  return isSeed(seed) ? BigInt.asUintN(64, BigInt(seed)) : randomBytes(8).readBigUInt64LE();
}

function isSeed(seed: GenerationFields['seed']): seed is number | bigint {
  return seed !== null && seed !== undefined && BigInt(seed) !== RANDOM_SEED;
}
