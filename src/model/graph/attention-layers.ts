import type { DecoderConfig } from '../huggingface/config.ts';
import { atLayer, numGates, numOwnParts } from '../huggingface/layer-heads.ts';
import { layerTensorNames, ofLayer } from '../families/family.ts';
import { fusedParts, type LinearLayer } from './linear.ts';

/** Attention's linear layers: queries, keys and values side by side, and what comes after it. */
export function attentionLayers(
  whole: DecoderConfig,
  layer: number,
): { readonly queryKeyValue: LinearLayer; readonly output: LinearLayer } {
  const config = atLayer(whole, layer);
  const { numHeads, numKvHeads, headDim, hiddenSize, family } = config;
  const names = layerTensorNames(family, layer);
  const prefix = `layers.${layer}.attention`;
  const { attentionGates } = family;
  const gates = attentionGates && {
    tensor: ofLayer(family, layer, attentionGates.tensor),
    outFeatures: numGates(config),
  };
  const queries = (family.gatesAttention === true ? 2 : 1) * numHeads;
  const sizes = [queries, numKvHeads, numKvHeads].map((count) => count * headDim);
  return {
    queryKeyValue: {
      name: `${prefix}.qkv`,
      inFeatures: hiddenSize,
      parts: [
        ...(gates === undefined ? [] : [gates]),
        ...fusedParts(names.queryKeyValue, sizes).slice(0, numOwnParts(whole, layer)),
      ],
      bias: config.queryKeyValueBias,
    },
    output: {
      name: `${prefix}.output`,
      inFeatures: numHeads * headDim,
      parts: [{ tensor: names.attentionOutput, outFeatures: hiddenSize }],
      bias: config.attentionOutputBias,
    },
  };
}
