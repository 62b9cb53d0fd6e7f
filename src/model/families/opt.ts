import type { KnownFamily } from './family.ts';
import { BIAS_IN_LAYERS, LLAMA, LLAMA_LAYER } from './llama.ts';

export const OPT: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'opt',
    bias: {
      ...BIAS_IN_LAYERS,
      queryKeyValue: 'attention_bias',
      attentionOutput: 'attention_bias',
      mlp: 'mlp_bias',
    },
    norms: 'layer',
    gatesMlp: false,
    names: {
      intermediate_size: 'ffn_dim',
      hidden_act: 'activation_function',
      attention_bias: 'enable_bias',
      mlp_bias: 'enable_bias',
    },
    defaults: {
      rms_norm_eps: 1e-5,
      hidden_act: 'relu',
      attention_bias: true,
      mlp_bias: true,
      position_embedding_type: 'learned',
      tie_word_embeddings: true,
    },
    tensors: {
      embedding: 'model.decoder.embed_tokens',
      positions: 'model.decoder.embed_positions',
      firstPosition: 2,
      layerPrefix: 'model.decoder.layers',
      layer: {
        ...LLAMA_LAYER,
        attentionNorm: 'self_attn_layer_norm',
        attentionOutput: 'self_attn.out_proj',
        mlpNorm: 'final_layer_norm',
        gateUp: ['fc1'],
        down: 'fc2',
      },
      finalNorm: 'model.decoder.final_layer_norm',
      lmHead: 'lm_head',
    },
  },
  gguf: null,
};
