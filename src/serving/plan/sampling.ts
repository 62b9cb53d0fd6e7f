import type { GenerationDefaults } from '../../front/text/generation-config.ts';
import type { SAMPLING_FLAGS } from '../../settings/flags/sampling-flags.ts';
import type { Options } from '../../settings/options.ts';

export type SamplingOptions = Options<keyof typeof SAMPLING_FLAGS>;

/**
 * Sampling of requests that do not say: by flags of their own, before --override-generation-config, before what the
 * model's authors recommend, which `--generation-config vllm` leaves out.
 */
export function samplingOf(
  recommended: GenerationDefaults,
  {
    temperature,
    topP,
    topK,
    minP,
    repetitionPenalty,
    generationConfig,
    overrideGenerationConfig,
  }: SamplingOptions,
): GenerationDefaults {
  return {
    ...(generationConfig === 'vllm' ? {} : recommended),
    ...overrideGenerationConfig,
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(topK === undefined ? {} : { topK }),
    ...(minP === undefined ? {} : { minP }),
    ...(repetitionPenalty === undefined ? {} : { repetitionPenalty }),
  };
}
