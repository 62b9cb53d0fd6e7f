import { z } from 'zod';
import { MODEL_LIMITS } from '../../../model-limits.ts';
import type { EncoderFamily } from '../encoder-shape.ts';
import { BERT_LAYER, BERT_NAMES, BERT_TRANSFORM, POOLER_LABELS } from './bert.ts';
import {
  activation,
  commonShape,
  commonSizes,
  count,
  epsilon,
  parseConfig,
  WITH_BIASES,
  wholeTexts,
} from './sizes.ts';

/** `c2p|p2c`, or a list of both. */
const bothWays = z
  .union([z.string().transform((text) => text.toLowerCase().split('|')), z.array(z.string())])
  .refine((kinds) => ['c2p', 'p2c'].every((kind) => kinds.includes(kind)) && kinds.length === 2, {
    error: 'expected c2p and p2c',
  });

const distance = z.int().max(MODEL_LIMITS.positions);

const schema = z.looseObject({
  ...commonSizes,
  hidden_act: activation.default('gelu'),
  pooler_hidden_act: z.union([z.literal('tanh'), activation]).default('gelu'),
  layer_norm_eps: epsilon.default(1e-7),
  type_vocab_size: z.int().nonnegative().default(0),
  relative_attention: z.literal(true),
  pos_att_type: bothWays,
  share_att_key: z.boolean().default(false),
  position_biased_input: z.boolean().default(true),
  /** Below 1, as long as a text may be. */
  max_relative_positions: distance.default(-1),
  /** Below 1, distances are exact. */
  position_buckets: distance.default(-1),
  norm_rel_ebd: z.enum(['none', 'layer_norm']).default('none'),
  conv_kernel_size: z.literal(0, 'expected no convolution').nullish(),
  embedding_size: count.nullish(),
  legacy: z.boolean().default(true),
});

/** DeBERTa v2 and v3: BERT whose scores have distances as keys and as queries, too. */
export const DEBERTA: EncoderFamily = {
  modelTypes: ['deberta-v2'],
  describe(json, origin) {
    const data = parseConfig(
      schema.refine(
        ({ embedding_size: size, hidden_size }) => (size ?? hidden_size) === hidden_size,
        {
          error: 'expected embeddings as wide as layers',
          path: ['embedding_size'],
        },
      ),
      json,
      origin,
    );
    const shape = commonShape(data, origin);
    const { max_relative_positions: furthest, position_buckets: numBuckets } = data;
    const reach = furthest < 1 ? data.max_position_embeddings : furthest;
    const self = 'encoder.layer.*.attention.self';
    const [query = '', key = '', value = ''] = ['query', 'key', 'value'].map(
      (part) => `${self}.${part}_proj`,
    );
    return {
      body: {
        ...shape,
        // Three products make a score.
        attentionScale: 1 / Math.sqrt(3 * shape.headDim),
        numTypes: data.type_vocab_size,
        norm: { kind: 'layer', epsilon: data.layer_norm_eps, hasBias: true },
        activation: data.hidden_act,
        layers: wholeTexts(data.num_hidden_layers),
        distances: {
          embeddings: 'encoder.rel_embeddings.weight',
          norm: data.norm_rel_ebd === 'none' ? null : 'encoder.LayerNorm',
          projections: data.share_att_key
            ? [key, query]
            : [`${self}.pos_key_proj`, `${self}.pos_query_proj`],
          span: numBuckets > 0 ? numBuckets : reach,
          furthest: reach,
          isBucketed: numBuckets > 0,
        },
        names: {
          ...BERT_NAMES,
          positions: data.position_biased_input ? BERT_NAMES.positions : null,
          types: data.type_vocab_size > 0 ? BERT_NAMES.types : null,
          layer: { ...BERT_LAYER, queryKeyValue: [query, key, value] },
        },
        biases: WITH_BIASES,
      },
      labels: { ...POOLER_LABELS, activation: data.pooler_hidden_act },
      words: data.legacy
        ? {
            ...BERT_TRANSFORM,
            type: 'words',
            activation: data.hidden_act,
            outBias: 'cls.predictions.bias',
          }
        : null,
    };
  },
};
