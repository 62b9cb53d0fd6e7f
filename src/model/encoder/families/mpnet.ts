import { z } from 'zod';
import type { EncoderFamily } from '../encoder-shape.ts';
import { BUCKETS } from '../relative-buckets.ts';
import { BERT_NAMES, ROBERTA_LABELS, ROBERTA_WORDS } from './bert.ts';
import {
  activation,
  commonShape,
  commonSizes,
  epsilon,
  parseConfig,
  WITH_BIASES,
  wholeTexts,
} from './sizes.ts';

const schema = z.looseObject({
  ...commonSizes,
  layer_norm_eps: epsilon.default(1e-12),
  hidden_act: activation.default('gelu'),
  relative_attention_num_buckets: z.literal(BUCKETS).default(BUCKETS),
});

/** RoBERTa without types of tokens, with scores that depend on distances, too. */
export const MPNET: EncoderFamily = {
  modelTypes: ['mpnet'],
  describe(json, origin) {
    const data = parseConfig(schema, json, origin);
    const attention = 'encoder.layer.*.attention';
    return {
      body: {
        ...commonShape(data, origin),
        // Transformers takes 1 for the padding token, whatever config.json says.
        firstPosition: 2,
        norm: { kind: 'layer', epsilon: data.layer_norm_eps, hasBias: true },
        activation: data.hidden_act,
        layers: wholeTexts(data.num_hidden_layers),
        names: {
          ...BERT_NAMES,
          types: null,
          layer: {
            ...BERT_NAMES.layer,
            queryKeyValue: ['q', 'k', 'v'].map((part) => `${attention}.attn.${part}`),
            attentionOutput: `${attention}.attn.o`,
            afterAttention: `${attention}.LayerNorm`,
          },
          relativeBias: 'encoder.relative_attention_bias.weight',
        },
        biases: WITH_BIASES,
      },
      labels: ROBERTA_LABELS,
      words: ROBERTA_WORDS,
    };
  },
};
