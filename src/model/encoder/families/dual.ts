/** Text towers of models that embed texts and images alike: CLIP and SigLIP. */
import { z } from 'zod';
import { MODEL_LIMITS } from '../../../model-limits.ts';
import type { EncoderDescription, EncoderFamily } from '../encoder-shape.ts';
import {
  commonShape,
  commonSizes,
  count,
  epsilon,
  parseConfig,
  WITH_BIASES,
  wholeTexts,
} from './sizes.ts';

/** Activations of both towers, by their names in config.json. */
export const dualActivation = z
  .enum(['quick_gelu', 'gelu', 'gelu_new', 'gelu_pytorch_tanh'])
  .transform((name) => (name === 'quick_gelu' || name === 'gelu' ? name : 'gelu_tanh'));

/** The names of a layer's tensors, and those around layers. @param tower such as `text_model` */
export function dualNames(tower: string) {
  const layer = `${tower}.encoder.layers.*`;
  return {
    embeddingNorm: null,
    layer: {
      beforeAttention: `${layer}.layer_norm1`,
      queryKeyValue: ['q', 'k', 'v'].map((part) => `${layer}.self_attn.${part}_proj`),
      headNorms: null,
      attentionOutput: `${layer}.self_attn.out_proj`,
      onAttention: null,
      afterAttention: null,
      beforeMlp: `${layer}.layer_norm2`,
      up: [`${layer}.mlp.fc1`],
      down: `${layer}.mlp.fc2`,
      onMlp: null,
      afterMlp: null,
    },
  };
}

const size = count.max(MODEL_LIMITS.width);

const schema = z.looseObject({
  ...commonSizes,
  layer_norm_eps: epsilon,
  hidden_act: dualActivation,
});

const clipSchema = schema.extend({ projection_dim: size });
const siglipSchema = schema.extend({ projection_size: size.nullish() });

function body(
  data: z.output<typeof schema>,
  origin: string,
  isCausal: boolean,
): EncoderDescription['body'] {
  return {
    ...commonShape(data, origin),
    norm: { kind: 'layer', epsilon: data.layer_norm_eps, hasBias: true },
    activation: data.hidden_act,
    layers: wholeTexts(data.num_hidden_layers),
    isCausal,
    names: {
      ...dualNames('text_model'),
      words: 'text_model.embeddings.token_embedding',
      positions: 'text_model.embeddings.position_embedding',
      types: null,
      relativeBias: null,
      finalNorm: 'text_model.final_layer_norm',
    },
    biases: WITH_BIASES,
  };
}

export const CLIP_TEXT: EncoderFamily = {
  modelTypes: ['clip'],
  describe(json, origin) {
    const data = parseConfig(clipSchema, json, origin);
    return {
      body: body(data, origin, true),
      labels: null,
      words: null,
      projection: {
        type: 'projection',
        tensor: 'text_projection',
        outFeatures: data.projection_dim,
        bias: false,
      },
    };
  },
};

export const SIGLIP_TEXT: EncoderFamily = {
  modelTypes: ['siglip'],
  describe(json, origin) {
    const data = parseConfig(siglipSchema, json, origin);
    return {
      body: body(data, origin, false),
      labels: null,
      words: null,
      projection: {
        type: 'projection',
        tensor: 'text_model.head',
        outFeatures: data.projection_size ?? data.hidden_size,
        bias: true,
      },
    };
  },
};
