import { z } from 'zod';
import { MODEL_LIMITS } from '../../../model-limits.ts';
import type { EncoderFamily } from '../encoder-shape.ts';
import { BERT_NAMES, POOLER_LABELS } from './bert.ts';
import { plainRope, ropeParameters } from './ropes.ts';
import {
  commonShape,
  commonSizes,
  count,
  epsilon,
  parseConfig,
  theta,
  width,
  WITHOUT_BIASES,
  wholeTexts,
} from './sizes.ts';

/** As Transformers writes it. */
const ownSchema = z.looseObject({
  ...commonSizes,
  hidden_act: z.literal('silu').default('silu'),
  type_vocab_size: count.default(2),
  layer_norm_eps: epsilon.default(1e-12),
  rope_parameters: ropeParameters.nullish(),
});

const no = z.literal(false).nullish();

/** As the hub has it, named as in GPT-2. */
const hubSchema = z
  .looseObject({
    vocab_size: commonSizes.vocab_size,
    n_embd: width,
    n_inner: width,
    n_layer: count.max(MODEL_LIMITS.layers),
    n_head: count.max(MODEL_LIMITS.heads),
    n_positions: commonSizes.max_position_embeddings,
    /** Beyond it the angles of some models change with the text's length. */
    max_trained_positions: count.nullish(),
    activation_function: z.literal('swiglu'),
    type_vocab_size: count.default(2),
    layer_norm_epsilon: epsilon.default(1e-12),
    rotary_emb_base: theta.default(1000),
    rotary_emb_fraction: z.literal(1),
    rotary_emb_interleaved: no,
    prenorm: no,
    use_rms_norm: no,
    parallel_block: no,
    qkv_proj_bias: z.literal(false),
    mlp_fc1_bias: z.literal(false),
    mlp_fc2_bias: z.literal(false),
    num_experts: z.literal(0).nullish(),
  })
  .transform((data) => ({
    vocab_size: data.vocab_size,
    hidden_size: data.n_embd,
    intermediate_size: data.n_inner,
    num_hidden_layers: data.n_layer,
    num_attention_heads: data.n_head,
    max_position_embeddings: Math.min(data.n_positions, data.max_trained_positions ?? Infinity),
    type_vocab_size: data.type_vocab_size,
    layer_norm_eps: data.layer_norm_epsilon,
    rope_parameters: { rope_theta: data.rotary_emb_base },
  }));

/** BERT with rotary embedding and SwiGLU, almost without biases. */
export const NOMIC_BERT: EncoderFamily = {
  modelTypes: ['nomic_bert'],
  describe(json, origin) {
    const isHub = typeof json === 'object' && json !== null && 'n_embd' in json;
    const data = isHub
      ? parseConfig(hubSchema, json, origin)
      : parseConfig(ownSchema, json, origin);
    const layer = 'encoder.layers.*';
    return {
      body: {
        ...commonShape(data, origin, { isRotary: true }),
        numTypes: data.type_vocab_size,
        norm: { kind: 'layer', epsilon: data.layer_norm_eps, hasBias: true },
        activation: 'silu',
        gates: 'first',
        layers: wholeTexts(
          data.num_hidden_layers,
          plainRope(data.rope_parameters?.rope_theta ?? 1000),
        ),
        names: {
          ...BERT_NAMES,
          positions: null,
          embeddingNorm: 'emb_ln',
          layer: {
            ...BERT_NAMES.layer,
            queryKeyValue: [`${layer}.attn.Wqkv`],
            attentionOutput: `${layer}.attn.out_proj`,
            afterAttention: `${layer}.norm1`,
            up: [`${layer}.mlp.fc12`, `${layer}.mlp.fc11`],
            down: `${layer}.mlp.fc2`,
            afterMlp: `${layer}.norm2`,
          },
        },
        biases: WITHOUT_BIASES,
      },
      labels: POOLER_LABELS,
      words: {
        type: 'words',
        dense: 'cls.predictions.transform.dense',
        bias: true,
        activation: 'silu',
        norm: 'cls.predictions.transform.layer_norm',
        outBias: 'cls.predictions.bias',
      },
    };
  },
};
