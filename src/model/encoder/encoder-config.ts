import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import type { EncoderKind } from './encoder-kind.ts';
import { type EncoderLabels, labelsOf, labelsShape } from './encoder-labels.ts';
import type { EncoderConfig } from './encoder-shape.ts';
import { STANFORD_ARCHITECTURE } from './late-interaction.ts';
import { ENCODER_FAMILIES } from './families/known-encoders.ts';

const size = z.int().positive();

/** config.json as far as every encoder has it. */
const commonSchema = z.looseObject({
  model_type: z.string().default(''),
  architectures: z.array(z.string()).nullish(),
  vocab_size: size.nullish(),
  max_position_embeddings: size.max(MODEL_LIMITS.positions).nullish(),
  pad_token_id: z.int().nonnegative().nullish(),
  hidden_size: size.max(MODEL_LIMITS.positions).nullish(),
  ...labelsShape,
});

/** Facts about an encoder, whoever computes it. */
export interface EncoderFacts {
  readonly modelType: string;
  /** Tokens that it has; null if config.json does not say. */
  readonly vocabSize: number | null;
  /** Whether it has a head that scores a text: `...ForSequenceClassification`. */
  readonly isClassifier: boolean;
  /** Whether Stanford's ColBERT wrote it. */
  readonly isStanford: boolean;
  /** Width of its vectors; null if config.json does not say. */
  readonly hiddenSize: number | null;
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
  mpnet: 2,
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
    isStanford: (data.architectures ?? []).includes(STANFORD_ARCHITECTURE),
    hiddenSize: data.hidden_size ?? null,
    labels: labelsOf(data),
    padTokenId: data.pad_token_id ?? 0,
    maxPositions: positions === null ? null : positions - (POSITION_OFFSETS[data.model_type] ?? 0),
    scoreActivation: /identity/i.test(activation) ? 'identity' : 'sigmoid',
  };
}

/** Activations between an encoder's layers, by their names in config.json. */
export const encoderActivation = z
  .enum(['gelu', 'relu', 'gelu_new', 'gelu_pytorch_tanh'])
  .transform((name) => ACTIVATIONS[name]);

const ACTIVATIONS = {
  gelu: 'gelu',
  relu: 'relu',
  gelu_new: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
} as const;

export type EncoderActivation = z.output<typeof encoderActivation>;

/**
 * Reads what an encoder's graph is built by.
 * @throws {ModelError} when none can be built
 */
export function parseEncoderConfig(
  json: unknown,
  origin: string,
  kind: EncoderKind,
): EncoderConfig {
  const { modelType, labels } = parseEncoderFacts(json, origin);
  const family = ENCODER_FAMILIES.find(({ modelTypes }) => modelTypes.includes(modelType));
  if (family === undefined) {
    const known = ENCODER_FAMILIES.flatMap(({ modelTypes }) => modelTypes).join(', ');
    throw new ModelError(
      `${origin} is no encoder that can be built: its model_type is "${modelType}", known are ${known}`,
    );
  }
  const { body, labels: labelsHead, words, projection = null } = family.describe(json, origin);
  if (kind === 'embedding') return { ...body, head: projection };
  if (kind === 'late') return { ...body, head: null };
  if (kind === 'sparse' && words !== null) return { ...body, head: words };
  if (kind === 'reranker' && labelsHead !== null) {
    return { ...body, head: { ...labelsHead, numLabels: labels.names.length } };
  }
  throw new ModelError(`${origin}: the head of such a ${modelType} model can't be built`);
}
