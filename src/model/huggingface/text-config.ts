import { z } from 'zod';

/** Models that take more than text, by `model_type`: what is served is the text model inside. */
export const MULTIMODAL_TYPES = [
  'gemma3',
  'idefics3',
  'mistral3',
  'qwen2_vl',
  'qwen2_5_vl',
  'qwen3_vl',
  'smolvlm',
] as const;

/**
 * Text models that are another family's but for positions that tell rows and columns of images apart,
 * and are the same in all three where there is only text.
 */
const SAME_FAMILY: Readonly<Record<string, string>> = {
  qwen2_vl: 'qwen2',
  qwen2_vl_text: 'qwen2',
  qwen2_5_vl: 'qwen2',
  qwen2_5_vl_text: 'qwen2',
  qwen3_vl_text: 'qwen3',
};

const multimodalSchema = z.looseObject({
  model_type: z.enum(MULTIMODAL_TYPES),
  tie_word_embeddings: z.boolean().optional(),
  text_config: z.looseObject({ model_type: z.string().optional() }).default({}),
});

/** What stands before the names of text models' tensors, and what without another model it would be. */
const PREFIXES = [
  [/^language_model\./, ''],
  [/^model\.(language_model|text_model)\./, 'model.'],
] as const;

/**
 * The configuration of the text model inside of a multimodal one; any other as it is. What it leaves
 * out is taken from around it, as older ones have all of it there. The LM head is part of the whole.
 * @param json a parsed config.json
 */
export function textModelConfig(json: unknown): unknown {
  const parsed = multimodalSchema.safeParse(json);
  if (!parsed.success) return json;
  const { text_config: inner, tie_word_embeddings: isTied, ...outer } = parsed.data;
  const modelType = inner.model_type ?? outer.model_type;
  return {
    ...outer,
    ...inner,
    ...(isTied !== undefined && { tie_word_embeddings: isTied }),
    model_type: SAME_FAMILY[modelType] ?? modelType,
  };
}

/** What a tensor of a multimodal model's text model is called in a text model by itself. */
export function textModelTensor(name: string): string {
  return PREFIXES.reduce((text, [prefix, plain]) => text.replace(prefix, plain), name);
}
