import type { GenerationDefaults } from '../../front/text/generation-config.ts';
import { LLAMA_CPP_DEFAULTS } from '../../server/generation/llama-cpp-defaults.ts';

/** How requests sample that do not say, for people. @param own what the model's files and flags name */
export function samplingInWords(own: GenerationDefaults): string {
  const others = Object.entries(LLAMA_CPP_DEFAULTS).filter(([name]) => !(name in own));
  const named = inFields(own);
  const rest = inFields(Object.fromEntries(others));
  if (rest === '') return named;
  return named === ''
    ? `${rest} in \`run\`, /api and /infill, temperature 1 elsewhere`
    : `${named}; in \`run\`, /api and /infill also ${rest}`;
}

/** By the names of the API's fields. */
function inFields(defaults: GenerationDefaults): string {
  const { temperature, topK, topP, minP, repetitionPenalty, maxNewTokens } = defaults;
  const values = {
    temperature,
    top_k: topK,
    top_p: topP,
    min_p: minP,
    repetition_penalty: repetitionPenalty,
    max_tokens: maxNewTokens,
  };
  return Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]))
    .join(', ');
}
