import { z } from 'zod';

/** Models that take more than text, by `model_type`: the text model inside is served. */
export const MULTIMODAL_TYPES = [
  'gemma3',
  'gemma3n',
  'gemma4',
  'gemma4_unified',
  'idefics3',
  'internvl',
  'llama4',
  'llava',
  'llava_next',
  'llava_onevision',
  'mistral3',
  'qwen2_vl',
  'qwen2_5_vl',
  'qwen3_vl',
  'qwen3_vl_moe',
  'qwen3_5',
  'qwen3_5_moe',
  'smolvlm',
] as const;

/**
 * Text models of another family, except that they have three positions for rows and columns of
 * images; with text alone all three are equal.
 */
const SAME_FAMILY: Readonly<Record<string, string>> = {
  qwen2_vl: 'qwen2',
  qwen2_vl_text: 'qwen2',
  qwen2_5_vl: 'qwen2',
  qwen2_5_vl_text: 'qwen2',
  qwen3_vl_text: 'qwen3',
  qwen3_vl_moe: 'qwen3_vl_moe_text',
  qwen3_5: 'qwen3_5_text',
  qwen3_5_moe: 'qwen3_5_moe_text',
};

/** Values that configurations inside of others leave out (Transformers 4 wrote no defaults), by their `model_type`. */
const LEFT_OUT: Readonly<Record<string, object>> = {
  llama: {
    vocab_size: 32_000,
    hidden_size: 4096,
    intermediate_size: 11_008,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    max_position_embeddings: 2048,
  },
  mistral: {
    vocab_size: 32_000,
    hidden_size: 4096,
    intermediate_size: 14_336,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    max_position_embeddings: 131_072,
  },
  qwen2: {
    vocab_size: 151_936,
    hidden_size: 4096,
    intermediate_size: 22_016,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    max_position_embeddings: 32_768,
  },
};

/** Models whose configurations do so. */
const LEAVES_OUT: ReadonlySet<string> = new Set([
  'idefics3',
  'internvl',
  'llava',
  'llava_next',
  'llava_onevision',
]);

/** Models whose LM head is tied where the text model inside says so, even if the outer one denies it. */
const TIED_INSIDE: ReadonlySet<string> = new Set(['llava', 'llava_onevision']);

/** Text models of those whose configurations may leave that out. */
const LEFT_OUT_TYPES: Readonly<Record<string, string>> = {
  internvl: 'qwen2',
  llava: 'llama',
  llava_next: 'llama',
  llava_onevision: 'qwen2',
};

const multimodalSchema = z.looseObject({
  model_type: z.enum(MULTIMODAL_TYPES),
  tie_word_embeddings: z.boolean().optional(),
  text_config: z
    .looseObject({
      model_type: z.string().optional(),
      tie_word_embeddings: z.boolean().optional(),
    })
    .default({}),
});

/**
 * The prefix of a text model's tensors inside a multimodal model, or in one without an LM head, and its
 * prefix in a model of its own.
 */
const PREFIXES = [
  [/^language_model\./, ''],
  [/^model\.(language_model|text_model)\./, 'model.'],
  // Beside it, the parts of Gemma 3 that see: the tower is that of Idefics 3.
  [/^(model\.)?vision_tower\.(vision_model\.)?/, 'model.vision_model.'],
  [/^model\.(?=multi_modal_projector\.|image_newline$)/, ''],
  // And that of Qwen-VL.
  [/^model\.(?=visual\.)/, ''],
  // As Nemotron-H and Mamba-2 are published.
  [/^backbone\./, 'model.'],
  [/^(?=(embed_tokens|layers|norm)\.)/, 'model.'],
  [/^(?=(wte|wpe|h|ln_f)\.)/, 'transformer.'],
] as const;

/**
 * The configuration of the text model inside a multimodal one; any other unchanged. What it leaves
 * out is taken from the outer one, where older models have all of it. The LM head belongs to the
 * outer one.
 * @param json a parsed config.json
 */
export function textModelConfig(json: unknown): unknown {
  const parsed = multimodalSchema.safeParse(json);
  if (!parsed.success) return json;
  const { text_config: inner, tie_word_embeddings: isTiedOutside, ...outer } = parsed.data;
  const isTiedInside = TIED_INSIDE.has(outer.model_type) && inner.tie_word_embeddings === true;
  const isTied = isTiedInside || isTiedOutside;
  const modelType = inner.model_type ?? LEFT_OUT_TYPES[outer.model_type] ?? outer.model_type;
  return {
    ...(LEAVES_OUT.has(outer.model_type) && LEFT_OUT[modelType]),
    ...outer,
    ...inner,
    ...(isTied !== undefined && { tie_word_embeddings: isTied }),
    model_type: SAME_FAMILY[modelType] ?? modelType,
  };
}

/** Name of a text model's tensor in a text model by itself, with an LM head. */
export function textModelTensor(name: string): string {
  return PREFIXES.reduce((text, [prefix, plain]) => text.replace(prefix, plain), name);
}
