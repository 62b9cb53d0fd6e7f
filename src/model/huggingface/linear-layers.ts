import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/**
 * The configuration with what `linear_attn_config` says of layers in the terms of other families. Those without it
 * stay as they are.
 * @throws {ModelError} if it does not name each layer once
 */
export function withLinearLayers(hf: HuggingFaceConfig, origin: string): HuggingFaceConfig {
  const { linear_attn_config: linear } = hf;
  if (!linear) return hf;
  const headDim = linear.head_dim ?? hf.linear_key_head_dim;
  const numHeads = linear.num_heads ?? hf.linear_num_key_heads;
  return {
    ...hf,
    linear_key_head_dim: headDim,
    linear_value_head_dim: headDim,
    linear_num_key_heads: numHeads,
    linear_num_value_heads: numHeads,
    linear_conv_kernel_dim: linear.short_conv_kernel_size ?? hf.linear_conv_kernel_dim,
    layer_types: hf.layer_types ?? layerTypes(hf, linear, origin),
  };
}

function layerTypes(
  { num_hidden_layers: numLayers }: HuggingFaceConfig,
  {
    kda_layers: recurrent,
    full_attn_layers: attending,
  }: NonNullable<HuggingFaceConfig['linear_attn_config']>,
  origin: string,
): string[] {
  const types = new Map<number, string>();
  for (const layer of recurrent ?? []) types.set(layer, 'linear_attention');
  for (const layer of attending ?? []) types.set(layer, 'full_attention');
  const layers = Array.from({ length: numLayers }, (_, index) => types.get(index + 1));
  const named = layers.filter((type) => type !== undefined);
  const numNamed = (recurrent?.length ?? 0) + (attending?.length ?? 0);
  if (named.length === numLayers && numNamed === numLayers) return named;
  throw new ModelError(
    `${origin}: linear_attn_config's kda_layers and full_attn_layers do not name each of ` +
      `${numLayers} layers once, from 1 on`,
  );
}
