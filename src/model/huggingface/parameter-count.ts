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
  const { headNorms, attentionNorm, attentionOutputNorm, mlpNorm, mlpOutputNorm } =
    config.family.tensors.layer;
  const layerNorms = [attentionNorm, attentionOutputNorm, mlpNorm, mlpOutputNorm];
  const numNorms = layerNorms.filter((name) => name !== null).length;
  const numNormedHeads = headNorms?.over === 'head' ? 2 : config.numHeads + config.numKvHeads;
  const norms = numNorms * hiddenSize + (headNorms === null ? 0 : numNormedHeads * headDim);
  const embeddings = (config.tieWordEmbeddings ? 1 : 2) * vocabSize * hiddenSize;
  return embeddings + config.numLayers * (attention + mlp + norms) + hiddenSize;
}
