/** Configurations of models with a tower for texts and one for images: what they say of texts. */
import { z } from 'zod';

/** Transformers' defaults: published configurations leave out what is equal to them. */
const DEFAULTS = {
  clip: {
    vocab_size: 49_408,
    hidden_size: 512,
    intermediate_size: 2048,
    num_hidden_layers: 12,
    num_attention_heads: 8,
    max_position_embeddings: 77,
    hidden_act: 'quick_gelu',
    layer_norm_eps: 1e-5,
    projection_dim: 512,
    eos_token_id: 49_407,
  },
  siglip: {
    vocab_size: 32_000,
    hidden_size: 768,
    intermediate_size: 3072,
    num_hidden_layers: 12,
    num_attention_heads: 12,
    max_position_embeddings: 64,
    hidden_act: 'gelu_pytorch_tanh',
    layer_norm_eps: 1e-6,
  },
} as const;

const dualSchema = z.looseObject({
  model_type: z.enum(['clip', 'siglip']),
  projection_dim: z.unknown().optional(),
  text_config: z.looseObject({}).default({}),
});

/** Change to the end of a text's tokens before a tower reads them. */
export type TextEnd =
  /** Nothing after the first of these tokens; of old configurations, after the one with the highest id. */
  | { readonly type: 'cut'; readonly eosTokenId: number | null }
  /** Padding up to so many tokens, which is read like all others. */
  | { readonly type: 'padded'; readonly length: number };

/** Family of two towers that a parsed config.json is of; null for any other. */
export function dualTypeOf(config: unknown): keyof typeof DEFAULTS | null {
  return dualSchema.safeParse(config).data?.model_type ?? null;
}

/** A parsed config.json, of two towers that of its text tower. */
export function textPartOf(config: unknown): unknown {
  const { data } = dualSchema.safeParse(config);
  if (data === undefined) return config;
  const { model_type, text_config, projection_dim } = data;
  const projected = projection_dim === undefined ? {} : { projection_dim };
  const { projection_dim: _ofTextAlone, ...text } = text_config;
  return { ...DEFAULTS[model_type], ...text, ...projected, model_type };
}

/** The id that old configurations have in place of the token at a text's end. */
const OLD_EOS = 2;

const eosSchema = z.looseObject({ eos_token_id: z.int().nonnegative().catch(OLD_EOS) });

/** @param text as textPartOf gives it @param maxTokens of a text @returns null where nothing is wanted */
export function textEndOf(text: unknown, maxTokens: number): TextEnd | null {
  switch (dualTypeOf(text)) {
    case 'clip': {
      const { eos_token_id: id = OLD_EOS } = eosSchema.safeParse(text).data ?? {};
      return { type: 'cut', eosTokenId: id === OLD_EOS ? null : id };
    }
    case 'siglip':
      return { type: 'padded', length: maxTokens };
    case null:
      return null;
  }
}
