import type { GgufFile } from './gguf-file.ts';

/** Fields of config.json on attention from latents; none of files without. */
export function latentFields(
  { metadata }: GgufFile,
  architecture: string,
): Readonly<Record<string, unknown>> {
  const key = (suffix: string) => `${architecture}.${suffix}`;
  const number = (suffix: string) => metadata.number(key(suffix));
  const rank = number('attention.kv_lora_rank');
  if (rank === undefined) return {};
  const rotary = metadata.require(key('rope.dimension_count'), number('rope.dimension_count'));
  // Where the latent itself is what is attended to, heads have other names.
  const keyDim = number('attention.key_length_mla') ?? number('attention.key_length');
  const headDim = metadata.require(key('attention.key_length'), keyDim);
  return {
    kv_lora_rank: rank,
    q_lora_rank: number('attention.q_lora_rank') ?? null,
    qk_rope_head_dim: rotary,
    qk_nope_head_dim: headDim - rotary,
    v_head_dim: number('attention.value_length_mla') ?? number('attention.value_length'),
    head_dim: undefined,
    num_key_value_heads: undefined,
    partial_rotary_factor: undefined,
  };
}
