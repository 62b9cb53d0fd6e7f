import { FALCON_H1_TENSORS } from './falcon-h1.ts';
import type { KnownFamily } from './family.ts';
import { MAMBA_TENSORS } from './granite.ts';
import { LLAMA } from './llama.ts';

/** Bamba: most layers are Mamba-2, half of each head of the others turns. */
export const BAMBA: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'bamba',
    names: { full_attn_idxs: 'attn_layer_indices' },
    defaults: { rms_norm_eps: 1e-5, full_attn_idxs: [], partial_rotary_factor: 0.5 },
    recurrence: {
      kind: 'selective scan',
      layerTypes: ['linear_attention'],
      tensors: MAMBA_TENSORS,
    },
    tensors: FALCON_H1_TENSORS,
  },
  gguf: { architecture: 'granitehybrid', ifFileHas: 'finetuned rope', pairsRows: true },
};
