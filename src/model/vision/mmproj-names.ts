/** Names that tensors have in mmproj files, by those that they have in safetensors. */
import { MERGING_LAYER } from './grid-projector.ts';
import { CONNECTOR, LAYERS, POOL_MATRIX, POOL_NORM, PROJECTOR, TOWER } from './tensor-names.ts';

export interface MmprojNames {
  /** Names without `.weight` and `.bias`; with what a name ends in where it is another one in safetensors. */
  readonly tensors: Readonly<Record<string, string>>;
  /** Beginning of the names of layers, up to the layer's number. */
  readonly layers: string;
  /** Names within a layer. */
  readonly ofLayer: Readonly<Record<string, string>>;
}

/** The tower of SigLIP. */
const SIGLIP_TENSORS = {
  [`${TOWER}.embeddings.patch_embedding`]: 'v.patch_embd',
  [`${TOWER}.embeddings.position_embedding`]: 'v.position_embd',
  [`${TOWER}.post_layernorm`]: 'v.post_ln',
};

const SIGLIP_LAYER = {
  layer_norm1: 'ln1',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.out_proj': 'attn_out',
  layer_norm2: 'ln2',
  'mlp.fc1': 'ffn_up',
  'mlp.fc2': 'ffn_down',
};

export const IDEFICS_NAMES: MmprojNames = {
  tensors: { ...SIGLIP_TENSORS, [CONNECTOR]: 'mm.model.fc' },
  layers: LAYERS,
  ofLayer: SIGLIP_LAYER,
};

export const GEMMA_NAMES: MmprojNames = {
  tensors: {
    ...SIGLIP_TENSORS,
    [POOL_NORM]: 'mm.soft_emb_norm.weight',
    [POOL_MATRIX]: 'mm.input_projection.weight',
  },
  layers: LAYERS,
  ofLayer: SIGLIP_LAYER,
};

/** @param deepLayers of the tower, whose sums are merged too */
export function qwenNames(deepLayers: readonly number[]): MmprojNames {
  const deeper = deepLayers.flatMap((layer, index) =>
    Object.entries({ norm: 'norm', linear_fc1: 'fc1', linear_fc2: 'fc2' }).map(
      ([name, stored]) =>
        [
          `visual.deepstack_merger_list.${index}.${name}`,
          `v.deepstack.${layer}.${stored}`,
        ] as const,
    ),
  );
  return {
    tensors: {
      'visual.patch_embed.proj': 'v.patch_embd',
      'visual.pos_embed': 'v.position_embd',
      'visual.merger.ln_q': 'v.post_ln',
      'visual.merger.norm': 'v.post_ln',
      'visual.merger.mlp.0': 'mm.0',
      'visual.merger.linear_fc1': 'mm.0',
      'visual.merger.mlp.2': 'mm.2',
      'visual.merger.linear_fc2': 'mm.2',
      ...Object.fromEntries(deeper),
    },
    layers: 'visual.blocks.',
    ofLayer: {
      norm1: 'ln1',
      'attn.qkv': 'attn_qkv',
      'attn.q': 'attn_q',
      'attn.k': 'attn_k',
      'attn.v': 'attn_v',
      'attn.proj': 'attn_out',
      norm2: 'ln2',
      'mlp.gate_proj': 'ffn_gate',
      'mlp.up_proj': 'ffn_up',
      'mlp.down_proj': 'ffn_down',
      'mlp.fc1': 'ffn_up',
      'mlp.fc2': 'ffn_down',
      'mlp.linear_fc1': 'ffn_up',
      'mlp.linear_fc2': 'ffn_down',
    },
  };
}

export const PIXTRAL_NAMES: MmprojNames = {
  tensors: {
    [`${TOWER}.patch_conv`]: 'v.patch_embd',
    [`${TOWER}.ln_pre`]: 'v.pre_ln',
    [`${PROJECTOR}.norm`]: 'mm.input_norm',
    [MERGING_LAYER]: 'mm.patch_merger',
    [`${PROJECTOR}.linear_1`]: 'mm.1',
    [`${PROJECTOR}.linear_2`]: 'mm.2',
  },
  layers: `${TOWER}.transformer.layers.`,
  ofLayer: {
    attention_norm: 'ln1',
    'attention.q_proj': 'attn_q',
    'attention.k_proj': 'attn_k',
    'attention.v_proj': 'attn_v',
    'attention.o_proj': 'attn_out',
    ffn_norm: 'ln2',
    'feed_forward.gate_proj': 'ffn_gate',
    'feed_forward.up_proj': 'ffn_up',
    'feed_forward.down_proj': 'ffn_down',
  },
};
