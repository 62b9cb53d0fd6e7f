/** Fields that config.json of all families has, and their bounds. */
import { z } from 'zod';
import { explainZod } from '../../../explain-zod.ts';
import { MODEL_LIMITS } from '../../../model-limits.ts';
import { ModelError } from '../../model-error.ts';
import type {
  LayerActivation,
  EncoderBiases,
  EncoderReach,
  EncoderRope,
} from '../encoder-shape.ts';

export const count = z.int().positive();
export const width = count.max(MODEL_LIMITS.width);
export const epsilon = z.number().positive();
export const theta = z.number().positive();

export const activation = z
  .enum(['gelu', 'relu', 'silu', 'gelu_new', 'gelu_pytorch_tanh'])
  .transform((name): LayerActivation =>
    name.startsWith('gelu_') ? 'gelu_tanh' : (name as LayerActivation),
  );

/** Sizes of a transformer by the names that most families have for them. */
export const commonSizes = {
  vocab_size: count.max(MODEL_LIMITS.vocabSize),
  hidden_size: width,
  intermediate_size: width,
  num_hidden_layers: count.max(MODEL_LIMITS.layers),
  num_attention_heads: count.max(MODEL_LIMITS.heads),
  max_position_embeddings: count.max(MODEL_LIMITS.positions),
};

export const commonSchema = z.looseObject(commonSizes);

/** @throws {ModelError} */
export function parseConfig<Config>(
  schema: z.ZodType<Config>,
  json: unknown,
  origin: string,
): Config {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ModelError(`${origin} is no encoder that can be built: ${explainZod(parsed.error)}`);
}

/** @throws {ModelError} for heads that do not share the width evenly, or a table of angles that is too large */
export function commonShape(
  data: z.output<typeof commonSchema>,
  origin: string,
  { isRotary = false } = {},
) {
  const { hidden_size: hiddenSize, num_attention_heads: numHeads } = data;
  const headDim = hiddenSize / numHeads;
  const numPositions = data.max_position_embeddings;
  if (!Number.isInteger(headDim)) {
    throw new ModelError(`${origin}: hidden_size is not a multiple of num_attention_heads`);
  }
  if (isRotary) requireRotary(headDim, numPositions, origin);
  return {
    vocabSize: data.vocab_size,
    hiddenSize,
    intermediateSize: data.intermediate_size,
    numHeads,
    numKvHeads: numHeads,
    headDim,
    numPositions,
    firstPosition: 0,
    numTypes: 0,
    embeddingScale: 1,
    attentionScale: 1 / Math.sqrt(headDim),
    startsPlain: false,
    gates: null,
  };
}

/** @throws {ModelError} */
export function requireRotary(headDim: number, numPositions: number, origin: string): void {
  if (headDim % 2 !== 0) throw new ModelError(`${origin}: heads have an odd number of dimensions`);
  if ((numPositions * headDim) / 2 <= MODEL_LIMITS.rotaryTableValues) return;
  throw new ModelError(`${origin}: max_position_embeddings is too large`);
}

/** Layers that all see all of a text. */
export function wholeTexts(numLayers: number, rope: EncoderRope | null = null): EncoderReach[] {
  return Array.from({ length: numLayers }, () => ({ window: null, rope }));
}

/** Layers of which some see what is near alone. */
export interface NearAndFar {
  /** Tokens on each side that a layer sees of what is near. */
  readonly window: number;
  readonly near: EncoderRope;
  readonly full: EncoderRope;
  /** Whether a layer is of what is near, where config.json does not list them. */
  readonly isNear: (layer: number) => boolean;
}

export function nearAndFar(
  data: {
    readonly num_hidden_layers: number;
    readonly layer_types?: readonly string[] | null | undefined;
  },
  { window, near, full, isNear }: NearAndFar,
): EncoderReach[] {
  const types = data.layer_types;
  const isOfNear = types ? (layer: number) => types[layer] === 'sliding_attention' : isNear;
  return Array.from({ length: data.num_hidden_layers }, (_, layer) =>
    isOfNear(layer) ? { window, rope: near } : { window: null, rope: full },
  );
}

export const WITH_BIASES: EncoderBiases = {
  queryKeyValue: true,
  attentionOutput: true,
  up: true,
  down: true,
};

export const WITHOUT_BIASES: EncoderBiases = {
  queryKeyValue: false,
  attentionOutput: false,
  up: false,
  down: false,
};
