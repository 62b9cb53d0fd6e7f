import type { GenerationDefaults } from '../../front/text/generation-config.ts';
import type { SAMPLING_FLAGS } from '../../settings/flags/sampling-flags.ts';
import type { Options } from '../../settings/options.ts';

export type SamplingOptions = Options<keyof typeof SAMPLING_FLAGS>;

/** Sampling that flags say: each its own, before --override-generation-config. */
export function samplingOf({
  temperature,
  topP,
  topK,
  minP,
  repetitionPenalty,
  overrideGenerationConfig,
}: SamplingOptions): GenerationDefaults {
  return {
    ...overrideGenerationConfig,
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(topK === undefined ? {} : { topK }),
    ...(minP === undefined ? {} : { minP }),
    ...(repetitionPenalty === undefined ? {} : { repetitionPenalty }),
  };
}
