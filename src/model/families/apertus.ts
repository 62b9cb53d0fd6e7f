import type { KnownFamily } from './family.ts';
import { HEAD_NORMS, LLAMA, withLayer } from './llama.ts';

export const APERTUS: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'apertus',
    bias: { ...LLAMA.bias, mlp: 'never' },
    gatesMlp: false,
    defaults: { rms_norm_eps: 1e-5, hidden_act: 'xielu', rope_theta: 12_000_000 },
    tensors: withLayer({
      attentionNorm: 'attention_layernorm',
      headNorms: HEAD_NORMS,
      mlpNorm: 'feedforward_layernorm',
      gateUp: ['mlp.up_proj'],
      activation: 'mlp.act_fn',
    }),
  },
  gguf: { architecture: 'apertus' },
};
