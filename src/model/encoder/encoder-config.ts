import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { type EncoderLabels, labelsOf, labelsShape } from './encoder-labels.ts';

const size = z.int().positive();

/** config.json as far as every encoder has it. */
const commonSchema = z.looseObject({
  model_type: z.string().default(''),
  architectures: z.array(z.string()).nullish(),
  vocab_size: size.nullish(),
  max_position_embeddings: size.max(MODEL_LIMITS.positions).nullish(),
  pad_token_id: z.int().nonnegative().nullish(),
  ...labelsShape,
});

/** Facts about an encoder, whoever computes it. */
export interface EncoderFacts {
  readonly modelType: string;
  /** Tokens that it has; null if config.json does not say. */
  readonly vocabSize: number | null;
  /** Whether it has a head that scores a text: `...ForSequenceClassification`. */
  readonly isClassifier: boolean;
  readonly labels: EncoderLabels;
  readonly padTokenId: number;
  /** Longest text in tokens; null if config.json does not say. */
  readonly maxPositions: number | null;
  /** Activation of a cross-encoder's score. */
  readonly scoreActivation: 'sigmoid' | 'identity';
}

/** Positions before the first one: RoBERTa counts on from its padding token's id. */
const POSITION_OFFSETS: Readonly<Record<string, number>> = {
  roberta: 2,
  'xlm-roberta': 2,
  camembert: 2,
};

/** @throws {ModelError} */
export function parseEncoderFacts(json: unknown, origin: string): EncoderFacts {
  const parsed = commonSchema.safeParse(json);
  if (!parsed.success) throw new ModelError(`${origin}: ${explainZod(parsed.error)}`);
  const { data } = parsed;
  const positions = data.max_position_embeddings ?? null;
  const activation = data.sentence_transformers?.activation_fn ?? '';
  return {
    modelType: data.model_type,
    vocabSize: data.vocab_size ?? null,
    isClassifier: (data.architectures ?? []).some((name) =>
      name.endsWith('SequenceClassification'),
    ),
    labels: labelsOf(data),
    padTokenId: data.pad_token_id ?? 0,
    maxPositions: positions === null ? null : positions - (POSITION_OFFSETS[data.model_type] ?? 0),
    scoreActivation: /identity/i.test(activation) ? 'identity' : 'sigmoid',
  };
}

const bertSchema = z.looseObject({
  model_type: z.enum(['bert', 'roberta', 'xlm-roberta', 'camembert']),
  vocab_size: size.max(MODEL_LIMITS.vocabSize),
  hidden_size: size.max(MODEL_LIMITS.width),
  intermediate_size: size.max(MODEL_LIMITS.width),
  num_hidden_layers: size.max(MODEL_LIMITS.layers),
  num_attention_heads: size.max(MODEL_LIMITS.heads),
  max_position_embeddings: size.max(MODEL_LIMITS.positions),
  type_vocab_size: size.default(2),
  layer_norm_eps: z.number().positive().default(1e-12),
  hidden_act: z.enum(['gelu', 'relu', 'gelu_new', 'gelu_pytorch_tanh']).default('gelu'),
  position_embedding_type: z.literal('absolute').nullish(),
  is_decoder: z.literal(false).nullish(),
  pad_token_id: z.int().nonnegative().nullish(),
});

/** The shape of a BERT or RoBERTa encoder. */
export interface BertConfig {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numPositions: number;
  readonly numTypes: number;
  readonly layerNormEps: number;
  readonly activation: 'gelu' | 'gelu_tanh' | 'relu';
  /** Position of a text's first token. */
  readonly firstPosition: number;
  /** Family whose tensors a classifier has before its scores; null without one. */
  readonly head: 'bert' | 'roberta' | null;
  readonly numLabels: number;
}

/** @throws {ModelError} when no graph can be built of it */
export function parseBertConfig(json: unknown, origin: string): BertConfig {
  const parsed = bertSchema.safeParse(json);
  if (!parsed.success) {
    throw new ModelError(`${origin} is no encoder that can be built: ${explainZod(parsed.error)}`);
  }
  const { data } = parsed;
  const facts = parseEncoderFacts(json, origin);
  const isBert = data.model_type === 'bert';
  if (data.hidden_size % data.num_attention_heads !== 0) {
    throw new ModelError(`${origin}: hidden_size is not a multiple of num_attention_heads`);
  }
  return {
    vocabSize: data.vocab_size,
    hiddenSize: data.hidden_size,
    intermediateSize: data.intermediate_size,
    numLayers: data.num_hidden_layers,
    numHeads: data.num_attention_heads,
    numPositions: data.max_position_embeddings,
    numTypes: data.type_vocab_size,
    layerNormEps: data.layer_norm_eps,
    activation: ACTIVATIONS[data.hidden_act],
    firstPosition: isBert ? 0 : (data.pad_token_id ?? 1) + 1,
    head: facts.isClassifier ? (isBert ? 'bert' : 'roberta') : null,
    numLabels: facts.labels.names.length,
  };
}

const ACTIVATIONS = {
  gelu: 'gelu',
  relu: 'relu',
  gelu_new: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
} as const;
