import type { DecoderConfig } from '../huggingface/config.ts';
import { type MatrixSource, tableSource } from '../huggingface/matrix-source.ts';
import { layerInputTable } from './layer-inputs.ts';

/** Matrix [vocab, hidden] that gives logits: the token embedding where the two are tied. */
export function lmHeadSource(config: DecoderConfig): MatrixSource {
  const { family, tieWordEmbeddings, vocabSize, hiddenSize } = config;
  const { embedding, lmHead } = family.tensors;
  const tensor = tieWordEmbeddings ? embedding : lmHead;
  return { ...tableSource(tensor, [vocabSize, hiddenSize]), name: 'lm_head' };
}

/** All matrices with a row for each token: the LM head, the embedding if it is another one, and that of layers. */
export function vocabularySources(config: DecoderConfig): MatrixSource[] {
  const { family, tieWordEmbeddings, vocabSize, hiddenSize } = config;
  const ofLayers = layerInputTable(config);
  return [
    lmHeadSource(config),
    ...(tieWordEmbeddings ? [] : [tableSource(family.tensors.embedding, [vocabSize, hiddenSize])]),
    ...(ofLayers === null ? [] : [ofLayers]),
  ];
}
