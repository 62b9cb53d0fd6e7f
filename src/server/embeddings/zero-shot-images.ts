/** Labels that a request brings along for an image, by a model that embeds texts and images alike. */
import type { Caller } from '../../front/caller.ts';
import type { ImageReader } from '../../front/chat/chat-images.ts';
import { activated } from '../../front/embedding/vectors.ts';
import type { ImageTower } from '../../front/vision/image-encoder.ts';
import { badRequest } from '../errors.ts';
import type { EmbeddingRuntime } from './embedding-runtime.ts';
import { scoreMixed } from './mixed.ts';
import { imageOfText } from './mixed-inputs.ts';

/**
 * Scores of labels, with the numbers of Transformers' pipeline.
 * @param image its file in base64, or a URL @param texts a sentence for each label
 * @throws ApiError 400; as scoreMixed
 */
export async function imageLabelScores(
  runtime: EmbeddingRuntime,
  { probability }: Pick<ImageTower, 'probability'>,
  {
    image,
    texts,
  }: { readonly image: string | readonly string[]; readonly texts: readonly string[] },
  caller: Caller,
  reader: ImageReader,
): Promise<readonly number[]> {
  if (typeof image !== 'string') {
    throw badRequest('`inputs`: expected one image: base64, or a URL.', 'inputs', 'invalid_value');
  }
  const sides = [[imageOfText(image, 'inputs')], texts] as const;
  const { logits } = await scoreMixed(runtime, sides, {}, caller, reader);
  return Array.from(activated(logits, probability));
}
