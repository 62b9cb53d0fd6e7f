import type { LogitBias } from '../../engine/request.ts';
import type { Caller } from '../../front/caller.ts';
import { encodeTexts } from '../../front/prompts/encode-texts.ts';
import { clampedBias, requireInVocabulary } from '../generation/parameters.ts';
import type { ServedText } from '../runtimes.ts';
import type { TextBias } from '../schemas/text-biases.ts';

const FIELD = 'logit_bias';

/**
 * The biases of tokens: each token of a text has the text's, as in llama-server. Null where there are none.
 * @throws ApiError 400 for a token id outside of the vocabulary; else as PromptEncoder
 */
export async function toLogitBias(
  served: Pick<ServedText, 'prompts' | 'model'>,
  biases: readonly TextBias[],
  caller: Caller,
): Promise<LogitBias | null> {
  if (biases.length === 0) return null;
  const { maxModelLen: maxTokens, vocabSize } = served.model;
  const ids = biases.flatMap(([of]) => (typeof of === 'number' ? [of] : []));
  requireInVocabulary(ids, FIELD, vocabSize);
  const texts = biases.flatMap(([of]) => (typeof of === 'string' ? [of] : []));
  const options = { maxTokens, field: FIELD, addSpecialTokens: false };
  const encoded = await encodeTexts(served, texts, options, caller);
  const tokens = new Map(texts.map((text, index) => [text, [...(encoded[index] ?? [])]]));
  const pairs = biases.flatMap(([of, bias]) => {
    // The lowest one is as good as never.
    const value = clampedBias(bias === false ? -Infinity : bias);
    const tokenIds = typeof of === 'number' ? [of] : (tokens.get(of) ?? []);
    return tokenIds.map((tokenId) => [tokenId, value] as const);
  });
  return {
    tokenIds: Int32Array.from(pairs, ([tokenId]) => tokenId),
    biases: Float32Array.from(pairs, ([, value]) => value),
  };
}
