import { z } from 'zod';
import type { EncoderFamily, EncoderRope } from '../encoder-shape.ts';
import { BERT_NAMES, POOLER_LABELS, ROBERTA_WORDS } from './bert.ts';
import { ropeParameters } from './ropes.ts';
import {
  activation,
  commonShape,
  commonSizes,
  epsilon,
  parseConfig,
  theta,
  wholeTexts,
} from './sizes.ts';

const schema = z.looseObject({
  ...commonSizes,
  hidden_act: activation.default('gelu'),
  type_vocab_size: z.int().nonnegative().default(1),
  layer_norm_eps: epsilon.default(1e-12),
  layer_norm_type: z.literal('layer_norm').nullish(),
  position_embedding_type: z.literal('rope').nullish(),
  logn_attention_scale: z.literal(false).nullish(),
  pack_qkv: z.literal(true).nullish(),
  rope_theta: theta.nullish(),
  rope_parameters: ropeParameters.nullish(),
  rope_scaling: z
    .looseObject({ type: z.literal('ntk'), factor: theta, mixed_b: z.null().optional() })
    .nullish(),
});

/** BERT with rotary embedding and gates: `NewModel` of Alibaba's new-impl, and Snowflake's copy of it. */
export const GTE: EncoderFamily = {
  modelTypes: ['new', 'gte'],
  describe(json, origin) {
    const data = parseConfig(schema, json, origin);
    const shape = commonShape(data, origin, { isRotary: true });
    const ropeTheta = data.rope_parameters?.rope_theta ?? data.rope_theta ?? 160_000;
    const rope = scaledRope(ropeTheta, data.rope_scaling?.factor ?? 1, shape.headDim);
    const layer = 'encoder.layer.*';
    return {
      body: {
        ...shape,
        numTypes: data.type_vocab_size,
        norm: { kind: 'layer', epsilon: data.layer_norm_eps, hasBias: true },
        activation: data.hidden_act,
        gates: 'second',
        layers: wholeTexts(data.num_hidden_layers, rope),
        names: {
          ...BERT_NAMES,
          positions: null,
          types: data.type_vocab_size === 0 ? null : BERT_NAMES.types,
          layer: {
            ...BERT_NAMES.layer,
            queryKeyValue: [`${layer}.attention.qkv_proj`],
            attentionOutput: `${layer}.attention.o_proj`,
            afterAttention: `${layer}.attn_ln`,
            up: [`${layer}.mlp.up_gate_proj`],
            down: `${layer}.mlp.down_proj`,
            afterMlp: `${layer}.mlp_ln`,
          },
        },
        biases: { queryKeyValue: true, attentionOutput: true, up: false, down: true },
      },
      labels: POOLER_LABELS,
      words: {
        ...ROBERTA_WORDS,
        norm: 'lm_head.norm',
        outBias: 'lm_head.decoder.bias',
      },
    };
  },
};

/** NTK scaling by a fixed factor: a larger base, and all angles smaller by what keeps the first as it was. */
function scaledRope(ropeTheta: number, factor: number, headDim: number): EncoderRope {
  if (factor === 1) return { ropeTheta, ropeScaling: { type: 'default' } };
  return {
    ropeTheta: ropeTheta * factor,
    ropeScaling: { type: 'linear', factor: factor ** (2 / headDim) },
  };
}
