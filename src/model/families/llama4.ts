import type { Family, KnownFamily } from './family.ts';
import { LLAMA, withLayer } from './llama.ts';

/** Maverick: layers with rotary embedding and without, MLPs and experts. */
const LLAMA4: Family = {
  ...LLAMA,
  modelType: 'llama4_text',
  bias: { ...LLAMA.bias, mlp: 'never' },
  rotaryPairs: 'neighbours',
  variant: { use_qk_norm: false },
  names: {
    shared_intermediate_size: 'intermediate_size_mlp',
    decoder_sparse_step: 'interleave_moe_layer_step',
  },
  defaults: {
    num_key_value_heads: 8,
    head_dim: 128,
    rms_norm_eps: 1e-5,
    rope_theta: 500_000,
    num_experts: 16,
    num_experts_per_tok: 1,
    no_rope_layer_interval: 4,
    attention_chunk_size: 8192,
    attn_temperature_tuning: true,
    floor_scale: 8192,
  },
  // The shared expert is as wide as the others.
  fixed: { n_shared_experts: 1, norm_topk_prob: false, sliding_window: null },
  experts: {
    normalizesShares: 'norm_topk_prob',
    scoring: 'sigmoid',
    scalesInput: true,
    bias: false,
    stacked: {
      gateUp: 'feed_forward.experts.gate_up_proj',
      down: 'feed_forward.experts.down_proj',
      gateUpBias: null,
      downBias: null,
      order: 'columns, gates first',
    },
  },
  tensors: withLayer({
    gateUp: ['feed_forward.gate_proj', 'feed_forward.up_proj'],
    down: 'feed_forward.down_proj',
    experts: {
      router: 'feed_forward.router',
      gate: 'feed_forward.experts.*.gate_proj',
      up: 'feed_forward.experts.*.up_proj',
      down: 'feed_forward.experts.*.down_proj',
      correction: null,
      shared: {
        gateUp: ['feed_forward.shared_expert.gate_proj', 'feed_forward.shared_expert.up_proj'],
        down: 'feed_forward.shared_expert.down_proj',
        share: null,
      },
    },
  }),
};

/** Maverick's number of experts, by which llama.cpp knows models without norms of heads. */
const EXPERTS_WITHOUT_NORMS = 128;

export const LLAMA4S: readonly KnownFamily[] = [
  { family: LLAMA4, gguf: null },
  {
    // Scout, and small models without experts.
    family: { ...LLAMA4, variant: {}, normalizesTurnedHeads: true },
    gguf: {
      architecture: 'llama4',
      extra: ({ experts, window }) => ({
        use_qk_norm: experts !== EXPERTS_WITHOUT_NORMS,
        // Without chunks, layers have rotary embedding.
        ...(window === 0 && { no_rope_layer_interval: null, attention_chunk_size: null }),
      }),
    },
  },
];
