/** The bodies of llama-server's APIs. Unknown fields are accepted. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { extraSamplerFields } from './extra-samplers.ts';
import { boundedList } from './bounded-list.ts';
import { generationFields, shortText } from './fields.ts';
import { grammarText, jsonSchema } from './structured.ts';
import { textBiases } from './text-biases.ts';

const { model, temperature, top_p, top_k, min_p, seed, stop, stream } = generationFields;
const { presence_penalty, frequency_penalty, repetition_penalty } = generationFields;
const { priority, service_tier, timeout, user, cache_salt, id_slot, n_keep } = generationFields;

const common = {
  model,
  /** Tokens of the answer; -1 is as many as fit, and 0 has the prompt computed alone. */
  n_predict: z.int().min(-1).nullish(),
  n_keep,
  temperature,
  top_p,
  top_k,
  min_p,
  seed,
  stop,
  presence_penalty,
  frequency_penalty,
  repeat_penalty: repetition_penalty,
  ...extraSamplerFields,
  logit_bias: textBiases.optional(),
  priority,
  service_tier,
  timeout,
  user,
  cache_salt,
  id_slot,
  stream,
};

const commonBody = z.looseObject(common);

export type LlamaServerBody = z.infer<typeof commonBody>;

export const infillBody = z.looseObject({
  ...common,
  /** Text before the place. */
  input_prefix: z.string().nullish(),
  /** Text after it. */
  input_suffix: z.string().nullish(),
  /** From other files, the least important first. */
  input_extra: boundedList(
    z.looseObject({ filename: shortText.nullish(), text: z.string() }),
    LIMITS.infillSnippets,
  ).nullish(),
  /** The beginning of the answer. */
  prompt: z.string().nullish(),
});

export type InfillBody = z.infer<typeof infillBody>;

/** `prompt` has its own parser. */
export const llamaCompletionBody = z.looseObject({
  ...common,
  ignore_eos: generationFields.ignore_eos,
  /** GBNF, which is the EBNF of `structured_outputs.grammar`. */
  grammar: z.union([z.literal(''), grammarText]).nullish(),
  json_schema: jsonSchema.nullish(),
});

export type LlamaCompletionBody = z.infer<typeof llamaCompletionBody>;
