import type { DecoderConfig } from '../huggingface/config.ts';
import { layerTensorNames } from '../huggingface/families.ts';
import { fusedParts } from './decoder-parts.ts';
import type { LinearLayer } from './linear.ts';

/** An MLP's two linear layers: the first gives gates and ups, or without gates what is activated. */
export function mlpLayers(
  { family, hiddenSize, intermediateSize, mlpBias }: DecoderConfig,
  layer: number,
): { readonly first: LinearLayer; readonly down: LinearLayer } {
  const names = layerTensorNames(family, layer);
  const prefix = `layers.${layer}.mlp`;
  const sizes = family.gatesMlp ? [intermediateSize, intermediateSize] : [intermediateSize];
  return {
    first: {
      name: `${prefix}.${family.gatesMlp ? 'gate_up' : 'up'}`,
      inFeatures: hiddenSize,
      parts: fusedParts(names.gateUp, sizes),
      bias: mlpBias,
    },
    down: {
      name: `${prefix}.down`,
      inFeatures: intermediateSize,
      parts: [{ tensor: names.down, outFeatures: hiddenSize }],
      bias: mlpBias,
    },
  };
}
