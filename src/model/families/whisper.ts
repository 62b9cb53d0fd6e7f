import type { KnownFamily } from './family.ts';
import { BIAS_IN_LAYERS, LLAMA, LLAMA_LAYER } from './llama.ts';

/**
 * The decoder of Whisper and Distil-Whisper. Keys have no bias: its weights are opened with zeros, see
 * speechWeights. The encoder is built by src/model/speech.
 */
export const WHISPER: KnownFamily = {
  family: {
    ...LLAMA,
    modelType: 'whisper',
    bias: BIAS_IN_LAYERS,
    norms: 'layer',
    gatesMlp: false,
    names: {
      hidden_size: 'd_model',
      intermediate_size: 'decoder_ffn_dim',
      num_hidden_layers: 'decoder_layers',
      num_attention_heads: 'decoder_attention_heads',
      hidden_act: 'activation_function',
    },
    defaults: {
      rms_norm_eps: 1e-5,
      hidden_act: 'gelu',
      position_embedding_type: 'learned',
      tie_word_embeddings: true,
      max_source_positions: 1500,
      max_target_positions: 448,
    },
    crossAttention: {
      norm: 'encoder_attn_layer_norm',
      query: 'encoder_attn.q_proj',
      keyValue: ['encoder_attn.k_proj', 'encoder_attn.v_proj'],
      output: 'encoder_attn.out_proj',
    },
    tensors: {
      embedding: 'model.decoder.embed_tokens',
      positions: 'model.decoder.embed_positions',
      firstPosition: 0,
      layerPrefix: 'model.decoder.layers',
      layer: {
        ...LLAMA_LAYER,
        attentionNorm: 'self_attn_layer_norm',
        attentionOutput: 'self_attn.out_proj',
        mlpNorm: 'final_layer_norm',
        gateUp: ['fc1'],
        down: 'fc2',
      },
      finalNorm: 'model.decoder.layer_norm',
      lmHead: 'proj_out',
    },
  },
  gguf: null,
};
