import type { SamplingDefaults, ServedModel } from '../runtimes.ts';

/** llama.cpp's own (`common_params_sampling`), whose penalty is off. */
export const LLAMA_CPP_DEFAULTS = {
  temperature: 0.8,
  topK: 40,
  topP: 0.95,
  minP: 0.05,
} satisfies SamplingDefaults;

/**
 * The model for requests of Ollama's and llama-server's APIs, and for a chat in the terminal. Where
 * neither the model's files nor the operator's flags name a value, they sample as llama.cpp does: many
 * GGUF files name none, and small models at temperature 1 without a cut-off answer worse than their users
 * know them. OpenAI's APIs stay with OpenAI's values.
 */
export function withLlamaCppDefaults<Model extends Pick<ServedModel, 'samplingDefaults'>>(
  model: Model,
): Model {
  return { ...model, samplingDefaults: { ...LLAMA_CPP_DEFAULTS, ...model.samplingDefaults } };
}
