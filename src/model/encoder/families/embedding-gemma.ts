import { z } from 'zod';
import { MODEL_LIMITS } from '../../../model-limits.ts';
import type { EncoderFamily } from '../encoder-shape.ts';
import { layerRopes, layerTypes, noScaling, plainRope } from './ropes.ts';
import {
  activation,
  commonShape,
  commonSizes,
  count,
  epsilon,
  parseConfig,
  requireRotary,
  theta,
  WITHOUT_BIASES,
  nearAndFar,
} from './sizes.ts';

const schema = z.looseObject({
  ...commonSizes,
  use_bidirectional_attention: z.literal(true),
  num_key_value_heads: count.max(MODEL_LIMITS.heads),
  head_dim: count.max(MODEL_LIMITS.headDim),
  hidden_activation: activation.default('gelu_tanh'),
  rms_norm_eps: epsilon.default(1e-6),
  attention_bias: z.literal(false).nullish(),
  attn_logit_softcapping: z.null().optional(),
  query_pre_attn_scalar: theta.default(256),
  sliding_window: count,
  layer_types: layerTypes.nullish(),
  sliding_window_pattern: count.nullish(),
  _sliding_window_pattern: count.nullish(),
  rope_theta: theta.default(1_000_000),
  rope_local_base_freq: theta.default(10_000),
  rope_parameters: layerRopes.nullish(),
  rope_scaling: noScaling,
});

/** Gemma 3 whose tokens see what comes after them, too. */
export const EMBEDDING_GEMMA: EncoderFamily = {
  modelTypes: ['gemma3_text'],
  describe(json, origin) {
    const data = parseConfig(schema, json, origin);
    const { rope_parameters: ropes, head_dim: headDim } = data;
    requireRotary(headDim, data.max_position_embeddings, origin);
    const full = plainRope(ropes?.full_attention?.rope_theta ?? data.rope_theta);
    const near = plainRope(ropes?.sliding_attention?.rope_theta ?? data.rope_local_base_freq);
    const window = Math.floor(data.sliding_window / 2);
    const pattern = data.sliding_window_pattern ?? data._sliding_window_pattern ?? 6;
    const isNear = (layer: number) => (layer + 1) % pattern !== 0;
    const layer = 'layers.*';
    return {
      body: {
        ...commonShape(data, origin),
        numKvHeads: data.num_key_value_heads,
        headDim,
        embeddingScale: Math.sqrt(data.hidden_size),
        attentionScale: 1 / Math.sqrt(data.query_pre_attn_scalar),
        norm: { kind: 'rms', epsilon: data.rms_norm_eps, hasBias: false },
        activation: data.hidden_activation,
        gates: 'first',
        layers: nearAndFar(data, { window, near, full, isNear }),
        names: {
          words: 'embed_tokens',
          positions: null,
          types: null,
          embeddingNorm: null,
          layer: {
            beforeAttention: `${layer}.input_layernorm`,
            queryKeyValue: ['q', 'k', 'v'].map((part) => `${layer}.self_attn.${part}_proj`),
            headNorms: [`${layer}.self_attn.q_norm`, `${layer}.self_attn.k_norm`],
            attentionOutput: `${layer}.self_attn.o_proj`,
            onAttention: `${layer}.post_attention_layernorm`,
            afterAttention: null,
            beforeMlp: `${layer}.pre_feedforward_layernorm`,
            up: [`${layer}.mlp.gate_proj`, `${layer}.mlp.up_proj`],
            down: `${layer}.mlp.down_proj`,
            onMlp: `${layer}.post_feedforward_layernorm`,
            afterMlp: null,
          },
          relativeBias: null,
          finalNorm: 'norm',
        },
        biases: WITHOUT_BIASES,
      },
      labels: null,
      words: null,
    };
  },
};
