import type { DecoderConfig } from '../huggingface/config.ts';
import { SafetensorsWeights } from '../huggingface/safetensors.ts';
import { ModelError } from '../model-error.ts';

/** Rows that are compared: matrices that were trained apart differ in all of them. */
const COMPARED_ROWS = 64;

/**
 * The configuration without a tied LM head, if the checkpoint has one that differs from its embedding: what its files
 * hold counts, as in Transformers 5, which writes `tie_word_embeddings` into configurations of some models by itself.
 * @param files of the checkpoint
 */
export async function withOwnHead(
  config: DecoderConfig,
  files: readonly string[],
): Promise<DecoderConfig> {
  if (!config.tieWordEmbeddings) return config;
  try {
    return (await headDiffers(config, files)) ? { ...config, tieWordEmbeddings: false } : config;
  } catch (error) {
    // Whoever reads the weights tells of it.
    if (error instanceof ModelError) return config;
    throw error;
  }
}

async function headDiffers(
  { family, vocabSize, hiddenSize }: DecoderConfig,
  files: readonly string[],
): Promise<boolean> {
  const head = `${family.tensors.lmHead}.weight`;
  const embedding = `${family.tensors.embedding}.weight`;
  const weights = await SafetensorsWeights.open(files);
  try {
    // MLX stores no head that is tied.
    if (weights.has(`${family.tensors.lmHead}.scales`)) return true;
    if (!weights.has(head) || !weights.has(embedding)) return false;
    const shape = [vocabSize, hiddenSize];
    const count = Math.min(COMPARED_ROWS, vocabSize);
    for (let each = 0; each < count; each++) {
      const row = Math.floor((each * vocabSize) / count);
      const ofHead = await weights.part(head, shape, row);
      const ofEmbedding = await weights.part(embedding, shape, row);
      if (ofHead.some((value, at) => value !== ofEmbedding[at])) return true;
    }
    return false;
  } finally {
    await weights.close();
  }
}
