import { layerMatrices } from '../../model/graph/layer-matrices.ts';
import type { DecoderConfig } from '../../model/huggingface/config.ts';
import { layerTensorNames } from '../../model/families/family.ts';

/** A tensor that a model of this configuration has. */
export interface TensorShape {
  readonly name: string;
  readonly shape: readonly number[];
}

/** The tensors of a layer. */
export function layerTensors(config: DecoderConfig, layer: number): TensorShape[] {
  const { hiddenSize, headDim, numHeads, numKvHeads } = config;
  const names = layerTensorNames(config.family, layer);
  const norms = [
    names.attentionNorm,
    names.attentionOutputNorm,
    names.mlpNorm,
    names.mlpOutputNorm,
  ].flatMap((name) => (name === null ? [] : { name: `${name}.weight`, shape: [hiddenSize] }));
  const { headNorms } = names;
  const isShared = headNorms?.over === 'head';
  const ofHeads = headNorms
    ? [
        { name: `${headNorms.query}.weight`, shape: [isShared ? headDim : numHeads * headDim] },
        { name: `${headNorms.key}.weight`, shape: [isShared ? headDim : numKvHeads * headDim] },
      ]
    : [];
  const matrices = layerMatrices(config, layer).flatMap(({ name: linear, tensors, columns }) =>
    tensors.flatMap(({ name, rows }) => {
      const weight = { name, shape: [rows, columns] };
      if (!hasBias(config, linear)) return weight;
      return [weight, { name: biasName(name), shape: [rows] }];
    }),
  );
  return [...norms, ...ofHeads, ...matrices];
}

/** The tensors before the layers, and those after them. */
export function outerTensors(config: DecoderConfig): {
  readonly before: readonly TensorShape[];
  readonly after: readonly TensorShape[];
} {
  const { family, vocabSize, hiddenSize, tieWordEmbeddings } = config;
  const { embedding, finalNorm, lmHead } = family.tensors;
  const vocabulary = [vocabSize, hiddenSize];
  const norm = { name: `${finalNorm}.weight`, shape: [hiddenSize] };
  const head = { name: `${lmHead}.weight`, shape: vocabulary };
  return {
    before: [{ name: `${embedding}.weight`, shape: vocabulary }],
    after: tieWordEmbeddings ? [norm] : [norm, head],
  };
}

/** Name of the bias that goes with a weight. */
export function biasName(weight: string): string {
  return weight.replace(/\.weight$/, '.bias');
}

function hasBias(config: DecoderConfig, linear: string): boolean {
  if (linear.endsWith('.qkv')) return config.queryKeyValueBias;
  return linear.endsWith('attention.output') ? config.attentionOutputBias : config.mlpBias;
}
