import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/** Layer type whose tokens see those of their own chunk of a text alone. */
export const CHUNKED = 'chunked_attention';

/**
 * How many tokens a text may have where Llama 4's attention is as any other: it ends before a second chunk, and
 * before queries are scaled by their position, in layers without rotary embedding by
 * 1 + attn_scale * ln(1 + floor((position + 1) / floor_scale)). Neither is built.
 * @param rotated by layer, whether it has rotary embedding
 * @param stated positions of the model
 * @throws {ModelError} if that is none
 */
export function beforeChunks(
  hf: HuggingFaceConfig,
  rotated: readonly boolean[],
  stated: number,
  origin: string,
): number {
  const { attention_chunk_size: chunk, floor_scale: scaled, layer_types: types } = hf;
  const isChunked = types?.includes(CHUNKED) ?? rotated.includes(true);
  const isScaled = Boolean(hf.attn_temperature_tuning) && rotated.includes(false);
  const lengths = [stated];
  if (chunk && isChunked) lengths.push(chunk);
  if (scaled && isScaled) lengths.push(scaled - 1);
  const length = Math.min(...lengths);
  if (length > 0) return length;
  throw new ModelError(
    `${origin}: floor_scale ${scaled}, which scales all queries, is not supported (supported: 2 and more)`,
  );
}
