import { z } from 'zod';
import type { EncoderFamily } from '../encoder-shape.ts';
import { layerRopes, layerTypes, noScaling, plainRope } from './ropes.ts';
import {
  activation,
  commonShape,
  commonSizes,
  count,
  epsilon,
  parseConfig,
  theta,
  nearAndFar,
} from './sizes.ts';

const bias = z.boolean().default(false);

const schema = z.looseObject({
  ...commonSizes,
  norm_eps: epsilon.default(1e-5),
  norm_bias: bias,
  attention_bias: bias,
  mlp_bias: bias,
  hidden_activation: activation.default('gelu'),
  layer_types: layerTypes.nullish(),
  global_attn_every_n_layers: count.default(3),
  local_attention: count.default(128),
  global_rope_theta: theta.default(160_000),
  local_rope_theta: theta.nullish(),
  rope_parameters: layerRopes.nullish(),
  rope_scaling: noScaling,
  classifier_pooling: z.enum(['cls', 'mean']).default('cls'),
  classifier_bias: bias,
  classifier_activation: activation.default('gelu'),
  tie_word_embeddings: z.literal(true).nullish(),
  decoder_bias: z.boolean().default(true),
});

/** Layers that see all of a text by turns with layers that see what is near, each with its own angles. */
export const MODERNBERT: EncoderFamily = {
  modelTypes: ['modernbert'],
  describe(json, origin) {
    const data = parseConfig(schema, json, origin);
    const { rope_parameters: ropes } = data;
    const full = plainRope(ropes?.full_attention?.rope_theta ?? data.global_rope_theta);
    const near = plainRope(ropes?.sliding_attention?.rope_theta ?? data.local_rope_theta ?? 10_000);
    const window = Math.floor(data.local_attention / 2);
    const isNear = (layer: number) => layer % data.global_attn_every_n_layers !== 0;
    const head = {
      dense: 'head.dense',
      bias: data.classifier_bias,
      activation: data.classifier_activation,
      norm: 'head.norm',
    };
    return {
      body: {
        ...commonShape(data, origin, { isRotary: true }),
        norm: { kind: 'layer', epsilon: data.norm_eps, hasBias: data.norm_bias },
        activation: data.hidden_activation,
        gates: 'first',
        startsPlain: true,
        layers: nearAndFar(data, { window, near, full, isNear }),
        names: {
          words: 'embeddings.tok_embeddings',
          positions: null,
          types: null,
          embeddingNorm: 'embeddings.norm',
          layer: {
            beforeAttention: 'layers.*.attn_norm',
            queryKeyValue: ['layers.*.attn.Wqkv'],
            headNorms: null,
            attentionOutput: 'layers.*.attn.Wo',
            onAttention: null,
            afterAttention: null,
            beforeMlp: 'layers.*.mlp_norm',
            up: ['layers.*.mlp.Wi'],
            down: 'layers.*.mlp.Wo',
            onMlp: null,
            afterMlp: null,
          },
          relativeBias: null,
          finalNorm: 'final_norm',
        },
        biases: {
          queryKeyValue: data.attention_bias,
          attentionOutput: data.attention_bias,
          up: data.mlp_bias,
          down: data.mlp_bias,
        },
      },
      labels: {
        ...head,
        type: 'labels',
        pooling: data.classifier_pooling === 'mean' ? 'mean' : 'first',
        out: 'classifier',
      },
      words: data.decoder_bias ? { ...head, type: 'words', outBias: 'decoder.bias' } : null,
    };
  },
};
