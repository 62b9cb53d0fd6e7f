import type { Family } from '../families/family.ts';
import { CHUNKED } from './chunked-attention.ts';
import { MLP_TYPES } from './layer-blocks.ts';
import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/** In config.json; `attention` is Granite 4's name of `full_attention`. */
const LAYER_TYPES: readonly string[] = ['full_attention', 'sliding_attention', 'attention'];

/** @throws {ModelError} naming a field whose value changes what a model computes, and is not built */
export function rejectUnsupported(
  hf: HuggingFaceConfig,
  { tensors, recurrence, hasSingleBlocks, normalizesTurnedHeads, attentionGates }: Family,
  origin: string,
): void {
  const reject = (what: string, supported: string): never => {
    throw new ModelError(`${origin}: ${what} is not supported (supported: ${supported})`);
  };
  if (hf.clip_qkv) reject(`clip_qkv ${hf.clip_qkv}`, 'queries, keys and values as they are');
  const types = [...LAYER_TYPES, ...(recurrence?.layerTypes ?? [])];
  if (hasSingleBlocks === true) types.push(...MLP_TYPES);
  if (hf.attention_chunk_size) types.push(CHUNKED);
  if (hf.moe_latent_size) reject('moe_latent_size', 'experts of the model\x27s width');
  const layerType = hf.layer_types?.find((type) => !types.includes(type));
  if (layerType !== undefined) reject(`layer type "${layerType}"`, types.join(', '));
  if (!hf.scale_attn_weights || hf.scale_attn_by_inverse_layer_idx) {
    reject('another scale of attention', 'one over the root of head_dim');
  }
  const normsHeads = normalizesTurnedHeads === true || tensors.layer.headNorms !== null;
  if (hf.use_qk_norm === true && !normsHeads) {
    reject('use_qk_norm, norms of queries and keys', 'queries and keys as they are');
  }
  if (typeof hf.sliding_window_pattern === 'string' && !hf.layer_types) {
    reject(`sliding_window_pattern "${hf.sliding_window_pattern}"`, 'numbers, layer_types');
  }
  const last = hf.moe_layer_end_index ?? -1;
  if (last !== -1 && last < hf.num_hidden_layers - 1) {
    reject(`moe_layer_end_index ${last}`, 'experts up to the last layer');
  }
  if (!hf.mla_use_nope) reject('mla_use_nope false', 'attention from latents without positions');
  if (attentionGates !== undefined && hf.attention_bias) {
    reject('attention_bias of attention with gates', 'false');
  }
  if (attentionGates !== undefined && !(hf.use_attention_gate && hf.use_sandwich_norm)) {
    reject('LFM3 without use_attention_gate or use_sandwich_norm', 'both');
  }
  if (hf.norm_head && hf.tie_word_embeddings) {
    reject('norm_head with tie_word_embeddings', 'an LM head of its own');
  }
  if (hf.sparse_config) reject('sparse_config', 'attention to all tokens');
  if (hf.alibi === true) reject('alibi', 'rotary and learned positions');
  if (hf.new_decoder_architecture === false && !(hf.multi_query && hf.parallel_attn)) {
    reject('Falcon without multi_query or parallel_attn', 'both, or new_decoder_architecture');
  }
  const embedded = hf.word_embed_proj_dim ?? hf.hidden_size;
  if (!hf.do_layer_norm_before || embedded !== hf.hidden_size) {
    reject('do_layer_norm_before or word_embed_proj_dim of OPT-350M', 'OPT of other sizes');
  }
  const seesAll = hf.use_bidirectional_attention;
  // Gemma 4 says `vision` where images see all of themselves.
  if (seesAll === true || seesAll === 'all') {
    reject('use_bidirectional_attention', 'causal attention');
  }
}
