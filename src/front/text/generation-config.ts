import { join } from 'node:path';
import { z } from 'zod';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { readJsonFile } from './tokenizer-files.ts';

const generationConfig = z.looseObject({
  temperature: z.number().min(0).nullish(),
  top_k: z.int().nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  repetition_penalty: z.number().gt(0).nullish(),
  max_new_tokens: z.int().min(1).nullish(),
});

const tokenIds = z.array(z.int().min(0)).max(MODEL_LIMITS.suppressedTokens);

const banned = z.looseObject({
  suppress_tokens: tokenIds.nullish(),
  bad_words_ids: z.array(tokenIds.min(1)).max(MODEL_LIMITS.suppressedTokens).nullish(),
});

/** As ONNX Runtime GenAI reads it: greedy unless it says otherwise. */
const genaiConfig = z
  .looseObject({ search: generationConfig.extend({ do_sample: z.boolean().nullish() }).nullish() })
  .transform(({ search }) => (search?.do_sample === true ? search : {}));

/** Values of requests that a model's authors recommend; absent where they recommend none. */
export interface GenerationDefaults {
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
  /** Tokens of an answer whose request leaves its length open. */
  readonly maxNewTokens?: number;
  /** Bound on the tokens of any answer; an operator's, never a model's. */
  readonly mostNewTokens?: number;
}

/**
 * Reads the sampling values of generation_config.json, or genai_config.json, if the model folder has
 * one of them.
 * @throws TokenizerError naming the file if it is damaged
 */
export async function readGenerationDefaults(folder: string): Promise<GenerationDefaults> {
  const config =
    (await readJsonFile(join(folder, 'generation_config.json'), generationConfig)) ??
    (await readJsonFile(join(folder, 'genai_config.json'), genaiConfig));
  return generationDefaults(config ?? {});
}

/** The same values by our names. */
export function generationDefaults(config: z.infer<typeof generationConfig>): GenerationDefaults {
  const values = {
    temperature: config.temperature,
    topK: config.top_k,
    topP: config.top_p,
    minP: config.min_p,
    repetitionPenalty: config.repetition_penalty,
    maxNewTokens: config.max_new_tokens,
  };
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined),
  );
}

/**
 * Reads the sequences of tokens that no text of a model has, by its generation_config.json: single
 * ones, as Gemma 4 has for images, and words.
 * @param eosTokenIds no word is one of them alone, as in Transformers
 * @throws TokenizerError naming the file if it is damaged
 */
export async function readBannedWords(
  folder: string,
  eosTokenIds: readonly number[],
): Promise<readonly Int32Array[]> {
  const config = await readJsonFile(join(folder, 'generation_config.json'), banned);
  const words = (config?.bad_words_ids ?? []).filter(
    ([first = -1, ...rest]) => rest.length > 0 || !eosTokenIds.includes(first),
  );
  const single = (config?.suppress_tokens ?? []).map((tokenId) => [tokenId]);
  return [...single, ...words].map((word) => Int32Array.from(word));
}
