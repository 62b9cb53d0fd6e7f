import { z } from 'zod';
import { MODEL_LIMITS } from '../../../model-limits.ts';
import type { EncoderFamily } from '../encoder-shape.ts';
import { BERT_NAMES } from './bert.ts';
import {
  activation,
  commonShape,
  commonSizes,
  count,
  parseConfig,
  WITH_BIASES,
  width,
  wholeTexts,
} from './sizes.ts';

const { vocab_size, max_position_embeddings } = commonSizes;

const schema = z.looseObject({
  vocab_size,
  max_position_embeddings,
  dim: width,
  hidden_dim: width,
  n_layers: count.max(MODEL_LIMITS.layers),
  n_heads: count.max(MODEL_LIMITS.heads),
  activation: activation.default('gelu'),
});

/** BERT without types of tokens, under names of its own. */
export const DISTILBERT: EncoderFamily = {
  modelTypes: ['distilbert'],
  describe(json, origin) {
    const data = parseConfig(schema, json, origin);
    const sizes = {
      ...data,
      hidden_size: data.dim,
      intermediate_size: data.hidden_dim,
      num_hidden_layers: data.n_layers,
      num_attention_heads: data.n_heads,
    };
    const layer = 'transformer.layer.*';
    return {
      body: {
        ...commonShape(sizes, origin),
        norm: { kind: 'layer', epsilon: 1e-12, hasBias: true },
        activation: data.activation,
        layers: wholeTexts(data.n_layers),
        names: {
          ...BERT_NAMES,
          types: null,
          layer: {
            ...BERT_NAMES.layer,
            queryKeyValue: ['q', 'k', 'v'].map((part) => `${layer}.attention.${part}_lin`),
            attentionOutput: `${layer}.attention.out_lin`,
            afterAttention: `${layer}.sa_layer_norm`,
            up: [`${layer}.ffn.lin1`],
            down: `${layer}.ffn.lin2`,
            afterMlp: `${layer}.output_layer_norm`,
          },
        },
        biases: WITH_BIASES,
      },
      labels: {
        type: 'labels',
        pooling: 'first',
        dense: 'pre_classifier',
        bias: true,
        activation: 'relu',
        norm: null,
        out: 'classifier',
      },
      words: {
        type: 'words',
        dense: 'vocab_transform',
        bias: true,
        activation: data.activation,
        norm: 'vocab_layer_norm',
        outBias: 'vocab_projector.bias',
      },
    };
  },
};
