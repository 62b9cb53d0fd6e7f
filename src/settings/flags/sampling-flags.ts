import { z } from 'zod';
import type { GenerationDefaults } from '../../front/text/generation-config.ts';
import type { FlagSpec } from './flag-spec.ts';
import { count, decimal, jsonObject, oneOf } from './values.ts';

const OWN = "the model's";

const EXPECTED =
  'expected any of temperature (0 to 2), top_p (above 0, to 1), top_k, min_p (0 to 1), repetition_penalty (0.01 to 10) and max_new_tokens (at least 1)';

const samplingConfig = jsonObject.pipe(
  z
    .strictObject(
      {
        temperature: z.number(EXPECTED).min(0, EXPECTED).max(2, EXPECTED).optional(),
        top_p: z.number(EXPECTED).gt(0, EXPECTED).max(1, EXPECTED).optional(),
        top_k: z.int(EXPECTED).min(-1, EXPECTED).optional(),
        min_p: z.number(EXPECTED).min(0, EXPECTED).max(1, EXPECTED).optional(),
        repetition_penalty: z.number(EXPECTED).min(0.01, EXPECTED).max(10, EXPECTED).optional(),
        max_new_tokens: z.int(EXPECTED).min(1, EXPECTED).optional(),
      },
      EXPECTED,
    )
    .transform(({ temperature, top_p, top_k, min_p, ...config }): GenerationDefaults => ({
      ...(temperature === undefined ? {} : { temperature }),
      ...(top_p === undefined ? {} : { topP: top_p }),
      ...(top_k === undefined ? {} : { topK: top_k }),
      ...(min_p === undefined ? {} : { minP: min_p }),
      ...(config.repetition_penalty === undefined
        ? {}
        : { repetitionPenalty: config.repetition_penalty }),
      // Both the length of answers whose requests leave it open, and the longest, as in vLLM.
      ...(config.max_new_tokens === undefined
        ? {}
        : { maxNewTokens: config.max_new_tokens, mostNewTokens: config.max_new_tokens }),
    })),
);

/** Sampling of requests that do not say; they go before the model's generation_config.json. */
export const SAMPLING_FLAGS = {
  temperature: {
    flags: '--temperature <t>',
    description: 'for requests that do not say; 0 is greedy',
    schema: decimal({ min: 0, max: 2 }).optional(),
    isBasic: true,
    defaultText: OWN,
  },
  topP: {
    flags: '--top-p <p>',
    description: 'draw from the smallest set of tokens that reaches this probability',
    schema: decimal({ above: 0, max: 1 }).optional(),
    defaultText: OWN,
  },
  topK: {
    flags: '--top-k <k>',
    description: 'draw from the k likeliest tokens; 0 or -1 from all',
    schema: count(-1).optional(),
    defaultText: OWN,
  },
  minP: {
    flags: '--min-p <p>',
    description: "draw from tokens with at least this share of the likeliest one's probability",
    schema: decimal({ min: 0, max: 1 }).optional(),
    defaultText: OWN,
  },
  repetitionPenalty: {
    flags: '--repetition-penalty <p>',
    description: 'above 1, tokens that were there before get less likely',
    schema: decimal({ min: 0.01, max: 10 }).optional(),
    defaultText: OWN,
  },
  generationConfig: {
    flags: '--generation-config <which>',
    description: "auto: sampling that the model's authors recommend; vllm: none of it",
    schema: oneOf(['auto', 'vllm']),
    default: 'auto',
  },
  overrideGenerationConfig: {
    flags: '--override-generation-config <json>',
    description: 'the same in the words of generation_config.json: {"temperature": 0.5}',
    schema: samplingConfig.optional(),
  },
} satisfies Record<string, FlagSpec>;
