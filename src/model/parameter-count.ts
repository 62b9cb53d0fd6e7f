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
  const { headNorms, attentionOutputNorm, mlpOutputNorm } = config.family.tensors.layer;
  const numNorms = 2 + Number(attentionOutputNorm !== null) + Number(mlpOutputNorm !== null);
  const norms = numNorms * hiddenSize + (headNorms === null ? 0 : 2 * headDim);
  const embeddings = (config.tieWordEmbeddings ? 1 : 2) * vocabSize * hiddenSize;
  return embeddings + config.numLayers * (attention + mlp + norms) + hiddenSize;
}
