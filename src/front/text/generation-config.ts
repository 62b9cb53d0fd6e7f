import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile } from './tokenizer-files.ts';

const generationConfig = z.looseObject({
  temperature: z.number().min(0).nullish(),
  top_k: z.int().nullish(),
  top_p: z.number().gt(0).max(1).nullish(),
  min_p: z.number().min(0).max(1).nullish(),
  repetition_penalty: z.number().gt(0).nullish(),
});

/** As ONNX Runtime GenAI reads it: greedy unless it says otherwise. */
const genaiConfig = z
  .looseObject({ search: generationConfig.extend({ do_sample: z.boolean().nullish() }).nullish() })
  .transform(({ search }) => (search?.do_sample === true ? search : {}));

/** Sampling values that a model's authors recommend; absent where they recommend none. */
export interface GenerationDefaults {
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repetitionPenalty?: number;
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
  };
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== null && value !== undefined),
  );
}
