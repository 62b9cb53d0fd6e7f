import type { Family, KnownFamily } from './family.ts';
import { MAMBA_TENSORS } from './granite.ts';
import { LLAMA, withLayer } from './llama.ts';

/** Bamba's too. */
export const FALCON_H1_TENSORS: Family['tensors'] = {
  ...withLayer({
    mlpNorm: 'pre_ff_layernorm',
    gateUp: ['feed_forward.gate_proj', 'feed_forward.up_proj'],
    down: 'feed_forward.down_proj',
  }),
  finalNorm: 'model.final_layernorm',
};

/** Attention and Mamba-2 side by side in every layer; factors of most matrices, see multipliers.ts. */
export const FALCON_H1: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'falcon_h1',
    bias: { ...LLAMA.bias, attentionOutput: 'attention_bias' },
    names: { logit_scale: 'lm_head_multiplier' },
    defaults: {
      rms_norm_eps: 1e-5,
      mamba_d_ssm: 1024,
      mamba_rms_norm: false,
      mamba_norm_before_gate: true,
    },
    recurrence: {
      kind: 'selective scan',
      isBesideAttention: true,
      layerTypes: ['hybrid'],
      tensors: MAMBA_TENSORS,
    },
    tensors: FALCON_H1_TENSORS,
  },
  gguf: { architecture: 'falcon-h1', isMlpNormBare: true },
};
