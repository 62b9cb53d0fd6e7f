/** Models that let the tokens of an image see each other, those after them too. */
import { type DecoderConfig } from '../huggingface/config.ts';

/**
 * Input of graphs that take it: int32 [tokens], in the order that `logits_index` numbers tokens. Position before
 * which attention of a token ends, where that is after its own; 0 for others.
 */
export const IMAGE_ENDS = 'image_ends';

/** In layers with a window, too: of an image a token sees what is not before its window. */
const FAMILIES: ReadonlySet<string> = new Set(['gemma3_text']);

/** Whether attention within an image is not causal. */
export function seesWholeImages({ family }: Pick<DecoderConfig, 'family'>): boolean {
  return FAMILIES.has(family.modelType);
}
