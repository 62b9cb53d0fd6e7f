import type { DecoderConfig } from '../huggingface/config.ts';
import { layerTensorNames } from '../huggingface/families.ts';

/** What a tensor of a checkpoint is called in a GGUF file, and what else sets it apart there. */
export interface TensorPlace {
  /** Without `.weight` and `.bias`, as are the keys of tensorPlaces. */
  readonly name: string;
  readonly kind: 'matrix' | 'heads' | 'norm';
}

/** By the names that a family's tensors have in safetensors. */
export function tensorPlaces(config: DecoderConfig): Map<string, TensorPlace> {
  const { family, numLayers } = config;
  const { embedding, finalNorm, lmHead } = family.tensors;
  const places = new Map<string, TensorPlace>([
    [embedding, { name: 'token_embd', kind: 'matrix' }],
    [finalNorm, { name: 'output_norm', kind: 'norm' }],
    [lmHead, { name: 'output', kind: 'matrix' }],
  ]);
  for (let layer = 0; layer < numLayers; layer++) {
    const names = layerTensorNames(family, layer);
    const add = (name: string | null, to: string, kind: TensorPlace['kind']) => {
      if (name !== null) places.set(name, { name: `blk.${layer}.${to}`, kind });
    };
    const [first = null, ...others] = names.queryKeyValue;
    const isFused = others.length === 0;
    add(first, isFused ? 'attn_qkv' : 'attn_q', isFused ? 'matrix' : 'heads');
    add(others[0] ?? null, 'attn_k', 'heads');
    add(others[1] ?? null, 'attn_v', 'matrix');
    const [gate = null, up = null] = names.gateUp;
    // Where they are one matrix it has the second's name.
    add(gate, up === null ? 'ffn_up' : 'ffn_gate', 'matrix');
    add(up, 'ffn_up', 'matrix');
    add(names.attentionOutput, 'attn_output', 'matrix');
    add(names.down, 'ffn_down', 'matrix');
    add(names.attentionNorm, 'attn_norm', 'norm');
    add(names.headNorms?.query ?? null, 'attn_q_norm', 'norm');
    add(names.headNorms?.key ?? null, 'attn_k_norm', 'norm');
    add(names.attentionOutputNorm, 'post_attention_norm', 'norm');
    add(names.mlpNorm, 'ffn_norm', 'norm');
    add(names.mlpOutputNorm, 'post_ffw_norm', 'norm');
  }
  return places;
}
