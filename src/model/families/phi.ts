import type { KnownFamily } from './family.ts';
import { LLAMA, NO_BIAS, withLayer } from './llama.ts';

export const PHIS: readonly KnownFamily[] = [
  {
    family: {
      ...LLAMA,
      modelType: 'phi3',
      bias: NO_BIAS,
      tensors: withLayer({
        queryKeyValue: ['self_attn.qkv_proj'],
        gateUp: ['mlp.gate_up_proj'],
      }),
    },
    gguf: { architecture: 'phi3' },
  },
];
