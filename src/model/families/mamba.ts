import type { KnownFamily } from './family.ts';
import { LLAMA, NO_BIAS, withLayer } from './llama.ts';
import type { SelectiveScanNames } from './recurrence.ts';

/** Tensors of Mamba-2 where it is a layer's only mixer. */
export const MIXER_TENSORS: SelectiveScanNames = {
  input: 'mixer.in_proj',
  convolution: 'mixer.conv1d',
  decay: 'mixer.A_log',
  stepBias: 'mixer.dt_bias',
  skip: 'mixer.D',
  norm: 'mixer.norm',
  output: 'mixer.out_proj',
};

/** Mamba-2 alone, after a norm in each layer: nothing attends. */
export const MAMBA2: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'mamba2',
    bias: NO_BIAS,
    hasSingleBlocks: true,
    names: {
      rms_norm_eps: 'layer_norm_epsilon',
      mamba_n_heads: 'num_heads',
      mamba_d_head: 'head_dim',
      mamba_d_state: 'state_size',
      mamba_n_groups: 'n_groups',
      mamba_d_conv: 'conv_kernel',
      mamba_expand: 'expand',
      mamba_conv_bias: 'use_conv_bias',
      mamba_proj_bias: 'use_bias',
      mamba_hidden_act: 'hidden_act',
    },
    defaults: {
      rms_norm_eps: 1e-5,
      mamba_d_head: 64,
      mamba_d_state: 128,
      mamba_n_groups: 8,
      // States are as large after any length; as many as llama.cpp's converter writes.
      max_position_embeddings: 2 ** 20,
    },
    // Heads of attention, which no layer has.
    fixed: { num_attention_heads: 1, num_key_value_heads: 1, head_dim: 16 },
    recurrence: {
      kind: 'selective scan',
      isInAllLayers: true,
      layerTypes: ['linear_attention'],
      tensors: MIXER_TENSORS,
    },
    tensors: {
      ...withLayer({ attentionNorm: 'norm', mlpNorm: null }),
      embedding: 'model.embeddings',
      finalNorm: 'model.norm_f',
    },
  },
  gguf: { architecture: 'mamba2' },
};
