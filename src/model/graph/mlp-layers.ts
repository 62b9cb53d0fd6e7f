import type { DecoderConfig } from '../huggingface/config.ts';
import { layerTensorNames } from '../families/family.ts';
import { fusedParts, type LinearLayer } from './linear.ts';

/** An MLP's two linear layers: the first gives gates and ups, or without gates what is activated. */
export function mlpLayers(
  { family, hiddenSize, intermediateSizes, mlpBias }: DecoderConfig,
  layer: number,
): { readonly first: LinearLayer; readonly down: LinearLayer } {
  const names = layerTensorNames(family, layer);
  const prefix = `layers.${layer}.mlp`;
  const width = intermediateSizes[layer] ?? 0;
  const sizes = family.gatesMlp ? [width, width] : [width];
  return {
    first: {
      name: `${prefix}.${family.gatesMlp ? 'gate_up' : 'up'}`,
      inFeatures: hiddenSize,
      parts: fusedParts(names.gateUp, sizes),
      bias: mlpBias,
    },
    down: {
      name: `${prefix}.down`,
      inFeatures: width,
      parts: [{ tensor: names.down, outFeatures: hiddenSize }],
      bias: mlpBias,
    },
  };
}
