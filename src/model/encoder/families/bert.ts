import { z } from 'zod';
import type { EncoderFamily, EncoderLayerNames, HeadTransform } from '../encoder-shape.ts';
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
  model_type: z.string(),
  type_vocab_size: z.int().positive().default(2),
  layer_norm_eps: epsilon.default(1e-12),
  hidden_act: activation.default('gelu'),
  position_embedding_type: z.literal('absolute').nullish(),
  is_decoder: z.literal(false).nullish(),
  pad_token_id: z.int().nonnegative().nullish(),
});

/** Names in BERT and its kin: norms come after what is added. */
export const BERT_LAYER: EncoderLayerNames = {
  beforeAttention: null,
  queryKeyValue: ['query', 'key', 'value'].map((part) => `encoder.layer.*.attention.self.${part}`),
  headNorms: null,
  attentionOutput: 'encoder.layer.*.attention.output.dense',
  onAttention: null,
  afterAttention: 'encoder.layer.*.attention.output.LayerNorm',
  beforeMlp: null,
  up: ['encoder.layer.*.intermediate.dense'],
  down: 'encoder.layer.*.output.dense',
  onMlp: null,
  afterMlp: 'encoder.layer.*.output.LayerNorm',
};

export const BERT_NAMES = {
  words: 'embeddings.word_embeddings',
  positions: 'embeddings.position_embeddings',
  types: 'embeddings.token_type_embeddings',
  embeddingNorm: 'embeddings.LayerNorm',
  layer: BERT_LAYER,
  relativeBias: null,
  finalNorm: null,
};

/** Labels as BERT scores them, by its pooler. */
export const POOLER_LABELS = {
  type: 'labels',
  pooling: 'first',
  dense: 'pooler.dense',
  bias: true,
  activation: 'tanh',
  norm: null,
  out: 'classifier',
} as const;

/** Labels as RoBERTa scores them. */
export const ROBERTA_LABELS = {
  ...POOLER_LABELS,
  dense: 'classifier.dense',
  out: 'classifier.out_proj',
} as const;

/** Words as RoBERTa scores them; its GELU is exact whatever the layers have. */
export const ROBERTA_WORDS = {
  type: 'words',
  dense: 'lm_head.dense',
  bias: true,
  activation: 'gelu',
  norm: 'lm_head.layer_norm',
  outBias: 'lm_head.bias',
} as const;

/** Words as BERT scores them, but for their activation. */
export const BERT_TRANSFORM = {
  dense: 'cls.predictions.transform.dense',
  bias: true,
  norm: 'cls.predictions.transform.LayerNorm',
} satisfies Omit<HeadTransform, 'activation'>;

export const BERT: EncoderFamily = {
  modelTypes: ['bert', 'roberta', 'xlm-roberta', 'camembert'],
  describe(json, origin) {
    const data = parseConfig(schema, json, origin);
    const isBert = data.model_type === 'bert';
    const body = {
      ...commonShape(data, origin),
      // RoBERTa counts positions on from its padding token's id.
      firstPosition: isBert ? 0 : (data.pad_token_id ?? 1) + 1,
      numTypes: data.type_vocab_size,
      norm: { kind: 'layer', epsilon: data.layer_norm_eps, hasBias: true },
      activation: data.hidden_act,
      layers: wholeTexts(data.num_hidden_layers),
      names: BERT_NAMES,
      biases: WITH_BIASES,
    } as const;
    return isBert
      ? {
          body,
          labels: POOLER_LABELS,
          words: {
            ...BERT_TRANSFORM,
            type: 'words',
            activation: data.hidden_act,
            outBias: 'cls.predictions.bias',
          },
        }
      : { body, labels: ROBERTA_LABELS, words: ROBERTA_WORDS };
  },
};
