import type { DecoderConfig } from './config.ts';

/** Number of trained values in a model. A tied embedding counts once. */
export function countParameters(config: DecoderConfig): number {
  const { hiddenSize, intermediateSize, vocabSize, headDim } = config;
  const queries = config.numHeads * headDim;
  const queriesKeysValues = queries + 2 * config.numKvHeads * headDim;
  const attention =
    (hiddenSize + Number(config.queryKeyValueBias)) * queriesKeysValues +
    (queries + Number(config.attentionOutputBias)) * hiddenSize;
  const mlp =
    (hiddenSize + Number(config.mlpBias)) * 2 * intermediateSize +
    (intermediateSize + Number(config.mlpBias)) * hiddenSize;
  const norms = 2 * hiddenSize;
  const embeddings = (config.tieWordEmbeddings ? 1 : 2) * vocabSize * hiddenSize;
  return embeddings + config.numLayers * (attention + mlp + norms) + hiddenSize;
}
