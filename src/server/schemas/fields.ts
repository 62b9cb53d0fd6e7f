/** Fields that completions and chat share. All are optional, and null means absent, as with OpenAI. */
import { z } from 'zod';
import { isLongerThan } from '../../front/prompts/prompt-job.ts';
import { LIMITS } from '../../limits.ts';
import { boundedList } from './bounded-list.ts';
import { extraSamplerFields } from './extra-samplers.ts';

/** A name, an id or a key that is kept or echoed. */
export const shortText = z.string().max(LIMITS.shortTextCharacters);

const stopString = z
  .string()
  .min(1, 'a stop string must not be empty')
  .max(LIMITS.stopStringCharacters);

const stop = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  boundedList(stopString, LIMITS.stopStrings).nullish(),
);

/** Variables for the model's template, such as `enable_thinking`. */
export const templateVariables = z
  .custom<object>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      !isLongerThan(LIMITS.templateVariableCharacters, value),
    { error: `expected an object of at most ${LIMITS.templateVariableCharacters} characters` },
  )
  .pipe(z.record(z.string(), z.unknown()));

const SEED_RANGE = { error: 'expected a whole number of at most 64 bits' };

/** JSON numbers beyond 2^53 come as bigints; see exact-seed.ts. */
const seed = z
  .union([z.int(), z.bigint()], SEED_RANGE)
  .refine((value) => BigInt.asIntN(64, BigInt(value)) === BigInt(value), SEED_RANGE);

/** One error for the whole list: it may be as long as the vocabulary. */
const tokenIds = z.custom<readonly number[]>(
  (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= LIMITS.allowedTokenIds &&
    value.every((item: unknown) => Number.isInteger(item) && Number(item) >= 0),
  { error: `expected a list of 1 to ${LIMITS.allowedTokenIds} token ids` },
);

/** By token id. Measured before its entries are looked at, as `boundedList`; the first bad one is it. */
const logitBias = z
  .custom<Readonly<Record<string, number>>>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.keys(value).length <= LIMITS.logitBiases,
    { error: `expected an object of at most ${LIMITS.logitBiases} entries`, abort: true },
  )
  .superRefine((biases, context) => {
    const values = Object.values(biases);
    const index = values.findIndex((bias) => typeof bias !== 'number');
    if (index === -1) return;
    context.addIssue({
      code: 'custom',
      path: [Object.keys(biases)[index] ?? ''],
      message: 'expected a number',
      input: values[index],
    });
  });

const badWords = boundedList(
  z.string().min(1, 'a bad word must not be empty'),
  LIMITS.badWords,
).refine((words) => words.join('').length <= LIMITS.badWordsCharacters, {
  error: `expected at most ${LIMITS.badWordsCharacters} characters in all`,
});

/** Largest interval: tokens that wait for a chunk are kept in memory. */
/** More than any server has. */
const MAX_SLOT = 999_999;
const MAX_STREAM_INTERVAL = 1000;

const tokenId = z.int().nonnegative('a token id must not be negative');

export const generationFields = {
  model: shortText.nullish(),
  max_tokens: z.int().min(1).nullish(),
  min_tokens: z.int().min(0).nullish(),
  /** Tokens that stay where the context is shifted; -1 for the prompt's. */
  n_keep: z.int().min(-1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  /** 0 and -1 keep all tokens. */
  top_k: z.int().min(-1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  /** The lowest value keeps every logit a finite number. */
  repetition_penalty: z.number().min(0.01).max(10).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  ...extraSamplerFields,
  /** -1 asks for a random one, as in vLLM. */
  seed: seed.nullish(),
  /** One string is the same as a list of one. */
  stop,
  include_stop_str_in_output: z.boolean().nullish(),
  stop_token_ids: boundedList(tokenId, LIMITS.stopTokenIds).nullish(),
  ignore_eos: z.boolean().nullish(),
  skip_special_tokens: z.boolean().nullish(),
  return_token_ids: z.boolean().nullish(),
  /** Lower goes first. */
  priority: z.int().nullish(),
  /** A service class, by its name or OpenAI's. */
  service_tier: shortText.nullish(),
  /** Seconds that the request may take, waiting included. */
  timeout: z.number().positive().max(86_400).nullish(),
  /** Clients without a key of their own share the server evenly by this. */
  user: shortText.nullish(),
  /** Cached prefixes are shared only among requests with the same salt. */
  cache_salt: shortText.min(1).nullish(),
  /** Slot that /slots/{id} saves the text from; -1 is 0. */
  id_slot: z.int().min(-1).max(MAX_SLOT).nullish(),
  /** As llama-server has it: of adapters, by their place in /lora-adapters. Read before the model is known. */
  lora: z.unknown().optional(),
  /** How many answers to give, each a choice of its own. */
  n: z.int().min(1).max(LIMITS.choices).nullish(),
  /** Generate this many and answer with the `n` likeliest by mean log-probability. */
  best_of: z.int().min(1).max(LIMITS.choices).nullish(),
  /** By token id, from -100 to 100. */
  logit_bias: logitBias.nullish(),
  allowed_token_ids: tokenIds.nullish(),
  bad_words: badWords.nullish(),
  prompt_logprobs: z.int().min(0).max(LIMITS.logprobs).nullish(),
  /** Show tokens as `token_id:123` in log-probabilities. */
  return_tokens_as_token_ids: z.boolean().nullish(),
  /** Keep this many tokens of the prompt; -1 keeps what fits. */
  truncate_prompt_tokens: z.int().min(-1).nullish(),
  /** Which end of the prompt is cut; the left one, unless said otherwise. */
  truncation_side: z.enum(['left', 'right']).nullish(),
  /** Tokens of each chunk of a stream, but for the first. */
  stream_interval: z.int().min(1).max(MAX_STREAM_INTERVAL).nullish(),
  stream: z.boolean().nullish(),
  /** Without `stream` it has no meaning, and is accepted: some clients always send it. */
  stream_options: z
    .looseObject({
      include_usage: z.boolean().nullish(),
      continuous_usage_stats: z.boolean().nullish(),
    })
    .nullish(),
};

/** Tokens that may be thought; -1 is any number. */
export const thinkingTokenBudget = z.int().min(-1).nullish();

const generationBody = z.looseObject(generationFields);

/** The generation fields of a body of either API. */
export type GenerationFields = z.infer<typeof generationBody>;
