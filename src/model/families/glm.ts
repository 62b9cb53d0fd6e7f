import type { Family, KnownFamily } from './family.ts';
import { LLAMA, LLAMA_LAYER, NO_BIAS, withLayer } from './llama.ts';

const LAYER = { ...LLAMA_LAYER, gateUp: ['mlp.gate_up_proj'] };

const GLM: Family = {
  ...LLAMA,
  modelType: 'glm',
  bias: { ...NO_BIAS, queryKeyValue: 'attention_bias' },
  rotaryPairs: 'neighbours',
  defaults: {
    head_dim: 128,
    num_key_value_heads: 2,
    rms_norm_eps: 1.5625e-7,
    attention_bias: true,
    partial_rotary_factor: 0.5,
  },
  tensors: withLayer(LAYER),
};

export const GLMS: readonly KnownFamily[] = [
  { family: GLM, gguf: { architecture: 'chatglm' } },
  {
    family: {
      ...GLM,
      modelType: 'glm4',
      tensors: withLayer({
        ...LAYER,
        attentionOutputNorm: 'post_self_attn_layernorm',
        mlpOutputNorm: 'post_mlp_layernorm',
      }),
    },
    gguf: { architecture: 'glm4' },
  },
];
