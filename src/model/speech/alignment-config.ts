/** Facts about the attention of a decoder of speech that tells when a token was said. */
import { join } from 'node:path';
import { z } from 'zod';

import { explainZod } from '../../explain-zod.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { fileExists } from '../../files/file-exists.ts';
import { encoderActivation, type EncoderActivation } from '../encoder/encoder-config.ts';
import { readJson } from '../huggingface/json-file.ts';
import { ModelError } from '../model-error.ts';

/** Facts that the graph depends on in addition to the weights. */
export interface AlignmentShape {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numHeads: number;
  /** Positions of what the encoder makes of a window. */
  readonly numPositions: number;
  /** Most tokens of a text, with its prompt. */
  readonly maxTokens: number;
  readonly activation: EncoderActivation;
  /** By layer, the heads whose attention to the window follows what is said. The last layer has some. */
  readonly heads: readonly (readonly number[])[];
}

const count = z.int().positive();
const width = count.max(MODEL_LIMITS.width);
/** Width of the filter; the only one that there is. */
const MEDIAN = 7;

const configSchema = z.looseObject({
  vocab_size: count.max(MODEL_LIMITS.vocabSize),
  d_model: width,
  decoder_ffn_dim: width,
  decoder_layers: count.max(MODEL_LIMITS.layers),
  decoder_attention_heads: count.max(MODEL_LIMITS.heads),
  max_source_positions: count.max(MODEL_LIMITS.speechPositions).default(1500),
  max_target_positions: count.max(MODEL_LIMITS.speechPositions).default(448),
  activation_function: encoderActivation.default('gelu'),
  median_filter_width: z.literal(MEDIAN).default(MEDIAN),
});

const index = z.int().min(0);
const generationSchema = z.looseObject({
  alignment_heads: z
    .array(z.tuple([index, index]))
    .max(MODEL_LIMITS.alignmentHeads)
    .nullish(),
});

/**
 * @param path absolute, of a folder with a model that hears
 * @returns null for a model whose `generation_config.json` names no `alignment_heads`
 * @throws {ModelError} if the files are damaged, or name heads that there are not
 */
export async function readAlignment(path: string): Promise<AlignmentShape | null> {
  const origin = join(path, 'generation_config.json');
  if (!(await fileExists(origin))) return null;
  const own = parse(generationSchema, await readJson(origin), origin).alignment_heads ?? [];
  if (own.length === 0) return null;
  const configPath = join(path, 'config.json');
  const config = parse(configSchema, await readJson(configPath), configPath);
  const { decoder_layers: numLayers, decoder_attention_heads: numHeads } = config;
  if (own.some(([layer, head]) => layer >= numLayers || head >= numHeads)) {
    throw new ModelError(`${origin}: alignment_heads has heads that the model does not have`);
  }
  const last = Math.max(...own.map(([layer]) => layer));
  const heads = Array.from({ length: last + 1 }, (_, layer) => [
    ...new Set(own.flatMap(([each, head]) => (each === layer ? [head] : []))),
  ]);
  return {
    vocabSize: config.vocab_size,
    hiddenSize: config.d_model,
    intermediateSize: config.decoder_ffn_dim,
    numHeads,
    numPositions: config.max_source_positions,
    maxTokens: config.max_target_positions,
    activation: config.activation_function,
    heads,
  };
}

function parse<T>(schema: z.ZodType<T>, json: unknown, origin: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ModelError(`${origin} is not of a model that can hear: ${explainZod(parsed.error)}`);
}
