/** Encoders of speech, as config.json describes them: Whisper's. */
import { z } from 'zod';

import { explainZod } from '../../explain-zod.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { encoderActivation, type EncoderActivation } from '../encoder/encoder-config.ts';
import { ModelError } from '../model-error.ts';

/** Facts that an encoder's graph depends on in addition to the weights. */
export interface SpeechShape {
  /** Mel bins of a frame. */
  readonly numMels: number;
  /** Frames of a window, two for each position. */
  readonly numFrames: number;
  /** Positions of what it makes of a window, as the decoder has them before a text. */
  readonly numPositions: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly activation: EncoderActivation;
}

const count = z.int().positive();
const width = count.max(MODEL_LIMITS.width);

const configSchema = z.looseObject({
  num_mel_bins: count.max(MODEL_LIMITS.melBins).default(80),
  max_source_positions: count.max(MODEL_LIMITS.speechPositions).default(1500),
  d_model: width,
  encoder_ffn_dim: width,
  encoder_layers: count.max(MODEL_LIMITS.layers),
  encoder_attention_heads: count.max(MODEL_LIMITS.heads),
  activation_function: encoderActivation.default('gelu'),
  scale_embedding: z.literal(false).default(false),
});

/** Whether a parsed config.json is one of a model that hears. */
export function isSpeechConfig(config: unknown): boolean {
  return z.looseObject({ model_type: z.literal('whisper') }).safeParse(config).success;
}

/**
 * @param origin what to call the configuration in errors, such as its path
 * @throws {ModelError} if it is incomplete, or describes what no graph can be built of
 */
export function parseSpeechConfig(json: unknown, origin: string): SpeechShape {
  const parsed = configSchema.safeParse(json);
  if (!parsed.success) {
    throw new ModelError(`${origin} is not of a model that can hear: ${explainZod(parsed.error)}`);
  }
  const config = parsed.data;
  if (config.d_model % config.encoder_attention_heads !== 0) {
    throw new ModelError(`${origin}: d_model is not a multiple of encoder_attention_heads`);
  }
  return {
    numMels: config.num_mel_bins,
    numFrames: 2 * config.max_source_positions,
    numPositions: config.max_source_positions,
    hiddenSize: config.d_model,
    intermediateSize: config.encoder_ffn_dim,
    numLayers: config.encoder_layers,
    numHeads: config.encoder_attention_heads,
    activation: config.activation_function,
  };
}
