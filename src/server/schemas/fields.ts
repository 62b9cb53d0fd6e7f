/** Fields that completions and chat share. All are optional, and null means absent, as with OpenAI. */
import { z } from 'zod';

/** JSON numbers are doubles: 2^63 is what the largest 64-bit seeds parse to. */
const SEED_LIMIT = 2 ** 63;

const MAX_STOP_STRINGS = 16;
const MAX_STOP_TOKEN_IDS = 256;

/**
 * A list that is measured before its items are looked at: checked the other way round, a hostile
 * body of millions of bad items would cost as many error objects.
 */
export function boundedList<Item extends z.ZodType>(item: Item, maxLength: number) {
  return z
    .custom<unknown[]>((value) => Array.isArray(value) && value.length <= maxLength, {
      error: `expected a list of at most ${maxLength} items`,
    })
    .pipe(z.array(item));
}

const stopString = z.string().min(1, 'a stop string must not be empty');

const stop = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  boundedList(stopString, MAX_STOP_STRINGS).nullish(),
);

const tokenId = z.int().nonnegative('a token id must not be negative');

export const generationFields = {
  model: z.string().nullish(),
  max_tokens: z.int().min(1).nullish(),
  min_tokens: z.int().min(0).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  /** 0 and -1 keep all tokens. */
  top_k: z.int().min(-1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  repetition_penalty: z.number().gt(0).max(10).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  seed: z
    .number()
    .refine((seed) => Number.isInteger(seed) && Math.abs(seed) <= SEED_LIMIT, {
      error: 'expected a whole number of at most 64 bits',
    })
    .nullish(),
  /** One string stands for a list of one. */
  stop,
  include_stop_str_in_output: z.boolean().nullish(),
  stop_token_ids: boundedList(tokenId, MAX_STOP_TOKEN_IDS).nullish(),
  ignore_eos: z.boolean().nullish(),
  skip_special_tokens: z.boolean().nullish(),
  return_token_ids: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  /** Without `stream` it has no meaning, and is let pass: some clients always send it. */
  stream_options: z
    .looseObject({
      include_usage: z.boolean().nullish(),
      continuous_usage_stats: z.boolean().nullish(),
    })
    .nullish(),
};

const generationBody = z.looseObject(generationFields);

/** What a body of either API says about generating. */
export type GenerationFields = z.infer<typeof generationBody>;
