import type { KnownFamily } from './family.ts';
import { BIAS_IN_LAYERS, LLAMA, LLAMA_LAYER } from './llama.ts';

/** GPT-2 and GPT-NeoX have norms with a mean and a bias, and MLPs without gates. */
export const GPTS: readonly KnownFamily[] = [
  {
    family: {
      ...LLAMA,
      modelType: 'gpt2',
      bias: BIAS_IN_LAYERS,
      norms: 'layer',
      gatesMlp: false,
      storesTransposed: true,
      names: {
        hidden_size: 'n_embd',
        intermediate_size: 'n_inner',
        num_hidden_layers: 'n_layer',
        num_attention_heads: 'n_head',
        max_position_embeddings: 'n_positions',
        rms_norm_eps: 'layer_norm_epsilon',
        hidden_act: 'activation_function',
      },
      defaults: {
        vocab_size: 50_257,
        hidden_size: 768,
        num_hidden_layers: 12,
        num_attention_heads: 12,
        max_position_embeddings: 1024,
        rms_norm_eps: 1e-5,
        hidden_act: 'gelu_new',
        bos_token_id: 50_256,
        eos_token_id: 50_256,
        position_embedding_type: 'learned',
        tie_word_embeddings: true,
      },
      tensors: {
        embedding: 'transformer.wte',
        positions: 'transformer.wpe',
        firstPosition: 0,
        layerPrefix: 'transformer.h',
        layer: {
          ...LLAMA_LAYER,
          attentionNorm: 'ln_1',
          queryKeyValue: ['attn.c_attn'],
          attentionOutput: 'attn.c_proj',
          mlpNorm: 'ln_2',
          gateUp: ['mlp.c_fc'],
          down: 'mlp.c_proj',
        },
        finalNorm: 'transformer.ln_f',
        lmHead: 'lm_head',
      },
    },
    gguf: { architecture: 'gpt2' },
  },
  {
    family: {
      ...LLAMA,
      modelType: 'gpt_neox',
      bias: {
        ...BIAS_IN_LAYERS,
        queryKeyValue: 'attention_bias',
        attentionOutput: 'attention_bias',
      },
      norms: 'layer',
      gatesMlp: false,
      fusedOrder: 'by group',
      names: {
        rms_norm_eps: 'layer_norm_eps',
        partial_rotary_factor: 'rotary_pct',
        rope_theta: 'rotary_emb_base',
      },
      defaults: {
        rms_norm_eps: 1e-5,
        hidden_act: 'gelu',
        partial_rotary_factor: 0.25,
        attention_bias: true,
        use_parallel_residual: true,
      },
      tensors: {
        embedding: 'gpt_neox.embed_in',
        positions: null,
        firstPosition: 0,
        layerPrefix: 'gpt_neox.layers',
        layer: {
          ...LLAMA_LAYER,
          queryKeyValue: ['attention.query_key_value'],
          attentionOutput: 'attention.dense',
          gateUp: ['mlp.dense_h_to_4h'],
          down: 'mlp.dense_4h_to_h',
        },
        finalNorm: 'gpt_neox.final_layer_norm',
        lmHead: 'embed_out',
      },
    },
    gguf: { architecture: 'gptneox' },
  },
];
